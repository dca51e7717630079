/** Syntax highlighting for the guides: strings, comments, numbers, keywords and names, by one expression per language. */
import { type Html, html, type Part } from '../../../base/html.ts'

const text = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/
const number = /\b\d[\d_.]*\b/

type Kind = 'comment' | 'text' | 'number' | 'keyword' | 'name'

function pattern(parts: Readonly<Partial<Record<Kind, RegExp>>>): RegExp {
  return new RegExp(
    Object.entries(parts)
      .map(([kind, { source }]) => `(?<${kind}>${source})`)
      .join('|'),
    'gm',
  )
}

const script = pattern({
  comment: /\/\/.*$|\/\*[\s\S]*?\*\//,
  text,
  keyword:
    /\b(?:import|export|default|from|const|let|await|async|for|of|if|else|return|new|function|type|interface|true|false|null)\b/,
  name: /\b[A-Za-z_$][\w$]*(?=\()/,
  number,
})

const patterns: ReadonlyMap<string, RegExp> = new Map([
  ['ts', script],
  ['js', script],
  [
    'json',
    pattern({ name: /"(?:[^"\\\n]|\\.)*"(?=\s*:)/, text, number, keyword: /\b(?:true|false|null)\b/ }),
  ],
  [
    'sh',
    pattern({
      comment: /(?:^|(?<=\s))#.*$/,
      text,
      keyword: /^(?:\w+=\S+ )*(?:curl|npm|npx|node|portico|export|docker|psql|git|cd)\b/,
      name: /(?<=\s)--?[A-Za-z][\w-]*/,
    }),
  ],
  [
    'graphql',
    pattern({
      comment: /#.*$/,
      text,
      keyword: /\b(?:query|mutation|subscription|fragment|on|type|input|enum|true|false|null)\b/,
      name: /\$\w+|@\w+/,
      number,
    }),
  ],
])

function kindOf(groups: Readonly<Record<string, string | undefined>> | undefined): string {
  return Object.entries(groups ?? {}).find(([, match]) => match !== undefined)?.[0] ?? ''
}

/** Renders code as HTML. Code in unknown languages has no colours. */
export function highlight(code: string, language: string): Html {
  const expression = patterns.get(language)
  if (!expression) return html`${code}`
  const parts: Part[] = []
  let end = 0
  for (const match of code.matchAll(expression)) {
    parts.push(code.slice(end, match.index), html`<span class="${kindOf(match.groups)}">${match[0]}</span>`)
    end = match.index + match[0].length
  }
  return html`${[...parts, code.slice(end)]}`
}
