/**
 * A tokenizer for TypeScript that is sufficient to find declarations: names, strings and punctuation with the depth of
 * brackets. Comments are skipped; a template or a regular expression is one token.
 */
export interface Token {
  readonly kind: 'name' | 'string' | 'literal' | 'sign'
  /** Of a string: its content, with escapes as written. */
  readonly text: string
  readonly start: number
  /** How many brackets are open around it; a bracket counts as outside of itself. */
  readonly depth: number
}

const space = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const name = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy
const number = /\d[\w.]*/y
const quoted = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}

/** The end of a template that begins at `at`; templates in its substitutions included. */
function templateEnd(source: string, at: number): number {
  let open = 0
  for (let here = at + 1; here < source.length; here++) {
    const sign = source[here]
    if (sign === '\\') here++
    else if (open === 0 && sign === '`') return here + 1
    else if (open === 0 && source.startsWith('${', here)) {
      open = 1
      here++
    } else if (open > 0 && sign === '`') here = templateEnd(source, here) - 1
    else if (open > 0 && sign === '{') open++
    else if (open > 0 && sign === '}') open--
  }
  return source.length
}

/** After these, a slash begins a regular expression: a value cannot have ended. */
const beforeValue = /^(?:[([{,;:=!&|?+\-*%<>~^]|return|typeof|case)$/

function literalAt(source: string, at: number, before: Token | undefined): string | undefined {
  if (source[at] === '`') return source.slice(at, templateEnd(source, at))
  if (source[at] !== '/') return matchAt(number, source, at)
  return before === undefined || beforeValue.test(before.text) ? matchAt(regex, source, at) : undefined
}

/** Never throws: an unknown character becomes a `sign`. */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = []
  let depth = 0
  let at = 0
  while (at < source.length) {
    at += matchAt(space, source, at)?.length ?? 0
    if (at >= source.length) break
    const start = at
    const named = matchAt(name, source, at)
    const string = matchAt(quoted, source, at)
    const literal = literalAt(source, at, tokens.at(-1))
    const text = named ?? string ?? literal ?? String.fromCodePoint(source.codePointAt(at) ?? 0)
    at += text.length
    if (named !== undefined) tokens.push({ kind: 'name', text, start, depth })
    else if (string !== undefined) tokens.push({ kind: 'string', text: text.slice(1, -1), start, depth })
    else if (literal !== undefined) tokens.push({ kind: 'literal', text, start, depth })
    else {
      if (')]}'.includes(text)) depth = Math.max(0, depth - 1)
      tokens.push({ kind: 'sign', text, start, depth })
      if ('([{'.includes(text)) depth++
    }
  }
  return tokens
}
