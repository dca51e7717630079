/** Finds where a model file, or a file that it imports, declares the subject of a fault. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { placeAt } from './error-place.ts'
import type { SourcePlace } from './frame.ts'
import { type Token, tokensOf } from './tokens.ts'

interface SourceFile {
  readonly file: string
  readonly source: string
  readonly tokens: readonly Token[]
}

/** Tokens of a file, from `from` up to but without `to`. */
interface Range {
  readonly at: SourceFile
  readonly from: number
  readonly to: number
}

/** A key, and the tokens of its value. */
interface Found {
  readonly at: SourceFile
  readonly key: number
  readonly value: Range
}

/** How many definitions and imports of a name are followed. */
const maxHops = 8
/** How many names within a value are followed. */
const maxNames = 50

function open(file: string): SourceFile | undefined {
  if (!existsSync(file)) return undefined
  const source = readFileSync(file, 'utf8')
  return { file, source, tokens: tokensOf(source) }
}

/** The end of the value that begins at `from`: a comma, a semicolon, or the closing bracket around it. */
function valueEnd(tokens: readonly Token[], from: number, depth: number): number {
  for (let at = from; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined || token.depth < depth) return at
    if (token.depth === depth && token.kind === 'sign' && ',;'.includes(token.text)) return at
  }
  return tokens.length
}

/** The outermost key of the range. */
function findKey({ at, from, to }: Range, name: string): Found | undefined {
  let best: number | undefined
  for (let index = from; index < to; index++) {
    if (!isKey(at.tokens, index, name)) continue
    const depth = at.tokens[index]?.depth ?? 0
    if (best === undefined || depth < (at.tokens[best]?.depth ?? 0)) best = index
  }
  if (best === undefined) return undefined
  const depth = at.tokens[best]?.depth ?? 0
  const follows = at.tokens[best + 1]?.text
  const value = follows === ':' ? best + 2 : best
  const end = valueEnd(at.tokens, value, depth)
  return { at, key: best, value: { at, from: value, to: end } }
}

/** `name: …`, `name,`, `name }` or `name(…) { … }` after `{` or `,`. */
function isKey(tokens: readonly Token[], index: number, name: string): boolean {
  const token = tokens[index]
  if (token?.text !== name || (token.kind !== 'name' && token.kind !== 'string')) return false
  const before = tokens[index - 1]?.text ?? ''
  const after = tokens[index + 1]?.text ?? ''
  if (before === 'async' && after === '(') return true
  return '{,'.includes(before) && before !== '' && [':', ',', '}', '('].includes(after)
}

/** The definition of a name: `const name = …` here, or in the file that it is imported from. */
function definition(at: SourceFile, name: string, hops: number): Found | undefined {
  const key = at.tokens.findIndex(
    ({ text }, index) => text === name && ['const', 'let', 'var'].includes(at.tokens[index - 1]?.text ?? ''),
  )
  if (key !== -1) return definedAt(at, key)
  if (hops >= maxHops) return undefined
  const imported = importOf(at, name)
  const file = imported && open(resolve(dirname(at.file), imported.from))
  return (
    file && (imported.name === 'default' ? defaultOf(file, hops) : definition(file, imported.name, hops + 1))
  )
}

function definedAt(at: SourceFile, key: number): Found | undefined {
  const depth = at.tokens[key]?.depth ?? 0
  const sign = at.tokens.findIndex(
    (token, index) => index > key && token.text === '=' && token.depth === depth,
  )
  if (sign === -1) return undefined
  return { at, key, value: { at, from: sign + 1, to: statementEnd(at, sign + 1, depth) } }
}

/** Without semicolons a statement ends where the next one begins. */
function statementEnd({ tokens }: SourceFile, from: number, depth: number): number {
  const starts = new Set(['export', 'const', 'let', 'var', 'import', 'function', 'type', 'interface', ';'])
  for (let at = from; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined || token.depth < depth) return at
    if (token.depth === depth && starts.has(token.text)) return at
  }
  return tokens.length
}

function defaultOf(at: SourceFile, hops: number): Found | undefined {
  const key = at.tokens.findIndex(
    ({ text }, index) => text === 'default' && at.tokens[index - 1]?.text === 'export',
  )
  const named = at.tokens[key + 1]
  if (key === -1 || named === undefined) return undefined
  const from = key + 1
  const found = { at, key, value: { at, from, to: statementEnd(at, from, named.depth) } }
  return isAlone(found.value) ? (definition(at, named.text, hops + 1) ?? found) : found
}

/** Whether the value is a name and nothing else. */
function isAlone({ at, from, to }: Range): boolean {
  const [token, next] = [at.tokens[from], at.tokens[from + 1]]
  return (
    token?.kind === 'name' && (to - from === 1 || next === undefined || [',', '}', ';'].includes(next.text))
  )
}

/** `import name from '…'`, `import { name } from '…'` and `import { other as name } from '…'`, of a file nearby. */
function importOf({ source }: SourceFile, name: string): { name: string; from: string } | undefined {
  for (const [, clause = '', from = ''] of source.matchAll(
    /\bimport\s+([^'";]+?)\s+from\s*['"](\.[^'"]+)['"]/g,
  )) {
    const braces = /\{([\s\S]*)\}/.exec(clause)?.[1] ?? ''
    for (const part of braces.split(',')) {
      const [, other = '', , alias] = /^\s*([\w$]+)(\s+as\s+([\w$]+))?\s*$/.exec(part) ?? []
      if ((alias ?? other) === name && name !== '') return { name: other, from }
    }
    if (
      clause
        .replace(/\{[\s\S]*\}/, '')
        .split(',')[0]
        ?.trim() === name
    )
      return { name: 'default', from }
  }
  return undefined
}

/** The key in the definition of a name within the value: `collection(options)`, `{ ...shared }`. */
function findThroughNames({ at, from, to }: Range, part: string): Found | undefined {
  const names = at.tokens.slice(from, to).filter(({ kind }) => kind === 'name')
  for (const { text } of names.slice(0, maxNames)) {
    const value = definition(at, text, 0)?.value
    const found = value && findKey(value, part)
    if (found) return found
  }
  return undefined
}

/** The value, or its definition if the value is only a name. */
function resolved(found: Found): Range {
  const { at, value } = found
  const token = at.tokens[value.from]
  if (token === undefined || !isAlone(value)) return value
  return definition(at, token.text, 0)?.value ?? value
}

/**
 * The place of a path such as `posts.fields.title.default`, or of its longest prefix in the sources. Undefined if not even
 * the first part is found, as in a generated model.
 */
export function declarationPlace(file: string, path: string): SourcePlace | undefined {
  const model = open(file)
  const root = model && (defaultOf(model, 0)?.value ?? { at: model, from: 0, to: model.tokens.length })
  let range: Range | undefined = root
  let deepest: Found | undefined
  for (const part of path.split('.')) {
    const found: Found | undefined = range && (findKey(range, part) ?? findThroughNames(range, part))
    if (found === undefined) break
    deepest = found
    range = resolved(found)
  }
  const token = deepest?.at.tokens[deepest.key]
  return deepest && token && placeAt(deepest.at.file, deepest.at.source, token.start)
}
