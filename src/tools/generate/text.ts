/** Names, texts and comments of a document that may be hostile, as TypeScript. */

/** Characters that could hide text or break lines: control characters, line separators, bidirectional controls, lone surrogates. */
const unsafe = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\uFEFF\p{Cs}]/gu

function escaped(text: string): string {
  return text.replace(unsafe, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A string literal: `it's` → `'it\'s'`. */
export function quoted(text: string): string {
  return `'${escaped(text.replace(/['\\]/g, '\\$&'))}'`
}

/** A property's name, quoted unless it is an identifier. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** `post_list-2` → `PostList2`: an identifier that no keyword and no predefined type equals. */
export function typeName(name: string): string {
  const words = name.match(/[A-Za-z0-9]+/g) ?? []
  const joined = words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return /^[A-Z]/.test(joined) ? joined : `Type${joined}`
}

/** Escapes a line so that it cannot end the comment, start a JSDoc tag or a compiler directive, or break. */
function commentLine(line: string): string {
  const escapedLine = line.replace(unsafe, ' ').replaceAll('*/', '*\\/')
  return escapedLine.replace(/(^|[\s{*/])@/g, '$1\\@').trimEnd()
}

const maxCommentLines = 50

/** A doc comment, which ends with a line break; empty without lines. `tags` are not escaped. */
export function docComment(text: string, tags: readonly string[], indent: string): string {
  const textLines = text.trim() === '' ? [] : text.trim().split(/\r\n?|\n|\u2028|\u2029/)
  const lines = [...textLines.slice(0, maxCommentLines).map(commentLine), ...tags]
  if (lines.length === 0) return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  const inner = lines.map(line => `${indent} * ${line}`.trimEnd()).join('\n')
  return `${indent}/**\n${inner}\n${indent} */\n`
}

/** A line comment. */
export function lineComment(text: string): string {
  return `// ${text.replace(unsafe, ' ')}\n`
}
