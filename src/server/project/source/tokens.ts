/**
 * A tokenizer for TypeScript that is sufficient to find declarations: names, strings and punctuation with the depth of
 * brackets. Comments are skipped; a template or a regular expression is one token.
 */
export interface Token {
  readonly kind: 'name' | 'string' | 'literal' | 'punctuator'
  /** Of a string: its content, with escapes as written. */
  readonly text: string
  readonly start: number
  /** The number of open brackets around the token. A bracket does not count itself. */
  readonly depth: number
}

const space = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const name = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy
const number = /\d[\w.]*/y
const quoted = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y

function matchAt(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(source)?.[0]
}

/** The end of the template that begins at `start`, including templates in its substitutions. */
function templateEnd(source: string, start: number): number {
  let open = 0
  for (let index = start + 1; index < source.length; index++) {
    const character = source[index]
    if (character === '\\') index++
    else if (open === 0 && character === '`') return index + 1
    else if (open === 0 && source.startsWith('${', index)) {
      open = 1
      index++
    } else if (open > 0 && character === '`') index = templateEnd(source, index) - 1
    else if (open > 0 && character === '{') open++
    else if (open > 0 && character === '}') open--
  }
  return source.length
}

/** After these, a slash begins a regular expression: a value cannot have ended. */
const beforeValue = /^(?:[([{,;:=!&|?+\-*%<>~^]|return|typeof|case)$/

function literalAt(source: string, offset: number, previous: Token | undefined): string | undefined {
  if (source[offset] === '`') return source.slice(offset, templateEnd(source, offset))
  if (source[offset] !== '/') return matchAt(number, source, offset)
  return previous === undefined || beforeValue.test(previous.text)
    ? matchAt(regex, source, offset)
    : undefined
}

/** Never throws: an unknown character becomes a `punctuator`. */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = []
  let depth = 0
  let offset = 0
  while (offset < source.length) {
    offset += matchAt(space, source, offset)?.length ?? 0
    if (offset >= source.length) break
    const start = offset
    const identifier = matchAt(name, source, offset)
    const string = matchAt(quoted, source, offset)
    const literal = literalAt(source, offset, tokens.at(-1))
    const text = identifier ?? string ?? literal ?? String.fromCodePoint(source.codePointAt(offset) ?? 0)
    offset += text.length
    if (identifier !== undefined) tokens.push({ kind: 'name', text, start, depth })
    else if (string !== undefined) tokens.push({ kind: 'string', text: text.slice(1, -1), start, depth })
    else if (literal !== undefined) tokens.push({ kind: 'literal', text, start, depth })
    else {
      if (')]}'.includes(text)) depth = Math.max(0, depth - 1)
      tokens.push({ kind: 'punctuator', text, start, depth })
      if ('([{'.includes(text)) depth++
    }
  }
  return tokens
}
