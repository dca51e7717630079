/** Finds where a model file, or a file that it imports, declares the subject of a fault. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { placeAt } from './error-place.ts'
import type { SourcePlace } from './frame.ts'
import { type Token, tokensOf } from './tokens.ts'

interface SourceFile {
  readonly path: string
  readonly text: string
  readonly tokens: readonly Token[]
}

/** The tokens of a file from the index `from` to the index `to`, which is excluded. */
interface Range {
  readonly source: SourceFile
  readonly from: number
  readonly to: number
}

/** A key, and the tokens of its value. */
interface Declared {
  readonly source: SourceFile
  readonly key: number
  readonly value: Range
}

/** The maximum number of definitions and imports that are followed from a name. */
const maxHops = 8
/** The maximum number of names within a value that are followed. */
const maxNames = 50

function open(path: string): SourceFile | undefined {
  if (!existsSync(path)) return undefined
  const text = readFileSync(path, 'utf8')
  return { path, text, tokens: tokensOf(text) }
}

/** The end of the value that begins at `from`: a comma, a semicolon, or the closing bracket around it. */
function valueEnd(tokens: readonly Token[], from: number, depth: number): number {
  for (let index = from; index < tokens.length; index++) {
    const token = tokens[index]
    if (token === undefined || token.depth < depth) return index
    if (token.depth === depth && token.kind === 'punctuator' && ',;'.includes(token.text)) return index
  }
  return tokens.length
}

/** The outermost key of the range. */
function findKey({ source, from, to }: Range, name: string): Declared | undefined {
  let key: number | undefined
  for (let index = from; index < to; index++) {
    if (!isKey(source.tokens, index, name)) continue
    const depth = source.tokens[index]?.depth ?? 0
    if (key === undefined || depth < (source.tokens[key]?.depth ?? 0)) key = index
  }
  if (key === undefined) return undefined
  const depth = source.tokens[key]?.depth ?? 0
  const follows = source.tokens[key + 1]?.text
  const valueStart = follows === ':' ? key + 2 : key
  const end = valueEnd(source.tokens, valueStart, depth)
  return { source, key, value: { source, from: valueStart, to: end } }
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
function definition(source: SourceFile, name: string, hops: number): Declared | undefined {
  const key = source.tokens.findIndex(
    ({ text }, index) =>
      text === name && ['const', 'let', 'var'].includes(source.tokens[index - 1]?.text ?? ''),
  )
  if (key !== -1) return definedAt(source, key)
  if (hops >= maxHops) return undefined
  const imported = importOf(source, name)
  const file = imported && open(resolve(dirname(source.path), imported.from))
  return (
    file && (imported.name === 'default' ? defaultOf(file, hops) : definition(file, imported.name, hops + 1))
  )
}

function definedAt(source: SourceFile, key: number): Declared | undefined {
  const depth = source.tokens[key]?.depth ?? 0
  const equals = source.tokens.findIndex(
    (token, index) => index > key && token.text === '=' && token.depth === depth,
  )
  if (equals === -1) return undefined
  return { source, key, value: { source, from: equals + 1, to: statementEnd(source, equals + 1, depth) } }
}

/** Without semicolons a statement ends where the next one begins. */
function statementEnd({ tokens }: SourceFile, from: number, depth: number): number {
  const starts = new Set(['export', 'const', 'let', 'var', 'import', 'function', 'type', 'interface', ';'])
  for (let index = from; index < tokens.length; index++) {
    const token = tokens[index]
    if (token === undefined || token.depth < depth) return index
    if (token.depth === depth && starts.has(token.text)) return index
  }
  return tokens.length
}

function defaultOf(source: SourceFile, hops: number): Declared | undefined {
  const key = source.tokens.findIndex(
    ({ text }, index) => text === 'default' && source.tokens[index - 1]?.text === 'export',
  )
  const first = source.tokens[key + 1]
  if (key === -1 || first === undefined) return undefined
  const from = key + 1
  const declared = { source, key, value: { source, from, to: statementEnd(source, from, first.depth) } }
  return isNameOnly(declared.value) ? (definition(source, first.text, hops + 1) ?? declared) : declared
}

/** Whether the value is a name and nothing else. */
function isNameOnly({ source, from, to }: Range): boolean {
  const [token, next] = [source.tokens[from], source.tokens[from + 1]]
  return (
    token?.kind === 'name' && (to - from === 1 || next === undefined || [',', '}', ';'].includes(next.text))
  )
}

/** `import name from '…'`, `import { name } from '…'` and `import { other as name } from '…'`, of a relative path. */
function importOf({ text }: SourceFile, name: string): { name: string; from: string } | undefined {
  for (const [, clause = '', from = ''] of text.matchAll(
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
function findThroughNames({ source, from, to }: Range, part: string): Declared | undefined {
  const names = source.tokens.slice(from, to).filter(({ kind }) => kind === 'name')
  for (const { text } of names.slice(0, maxNames)) {
    const value = definition(source, text, 0)?.value
    const declared = value && findKey(value, part)
    if (declared) return declared
  }
  return undefined
}

/** The value, or its definition if the value is only a name. */
function resolved({ source, value }: Declared): Range {
  const token = source.tokens[value.from]
  if (token === undefined || !isNameOnly(value)) return value
  return definition(source, token.text, 0)?.value ?? value
}

/** The first string among the tokens of the range with this name, alone or in a path such as `project.name`. */
function findString({ source, from, to }: Range, name: string): number | undefined {
  const isNamed = ({ kind, text }: Token) =>
    kind === 'string' && (text === name || text.split('.').includes(name))
  const index = source.tokens.findIndex((token, at) => at >= from && at < to && isNamed(token))
  return index === -1 ? undefined : index
}

/** A string in the definitions of the names within the value, e.g. in a rule that several collections share. */
function findInDefinitions(
  value: Range,
  text: string,
  visited: Set<Token>,
): { source: SourceFile; index: number } | undefined {
  const { source, from, to } = value
  for (const { kind, text: name } of source.tokens.slice(from, to)) {
    if (kind !== 'name' || visited.size >= maxNames) continue
    const defined = definition(source, name, 0)
    const key = defined?.source.tokens[defined.key]
    if (defined === undefined || key === undefined || visited.has(key)) continue
    visited.add(key)
    const index = findString(defined.value, text)
    if (index !== undefined) return { source: defined.source, index }
    const deeper = findInDefinitions(defined.value, text, visited)
    if (deeper) return deeper
  }
  return undefined
}

/** The names in backticks, without those that the message suggests, the last one first. */
function namesIn(message: string): readonly string[] {
  const [fault = ''] = message.split('Did you mean')
  return [...fault.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '').reverse()
}

/** Where the value takes what the message names from a definition elsewhere; undefined if it is in the value itself. */
function sharedPlace({ value }: Declared, message: string): SourcePlace | undefined {
  const names = namesIn(message)
  if (names.some(name => findString(value, name) !== undefined)) return undefined
  for (const name of names) {
    const found = findInDefinitions(value, name, new Set())
    const token = found?.source.tokens[found.index]
    if (found && token) return placeAt(found.source.path, found.source.text, token.start)
  }
  return undefined
}

/**
 * The place of a path such as `posts.fields.title.default`, or of its longest prefix in the sources. Undefined if not even
 * the first part is found, as in a generated model. `message`: of the fault, which may name what a shared rule contains.
 */
export function declarationPlace(file: string, path: string, message = ''): SourcePlace | undefined {
  const model = open(file)
  const root = model && (defaultOf(model, 0)?.value ?? { source: model, from: 0, to: model.tokens.length })
  let range: Range | undefined = root
  let deepest: Declared | undefined
  for (const part of path.split('.')) {
    const declared: Declared | undefined = range && (findKey(range, part) ?? findThroughNames(range, part))
    if (declared === undefined) break
    deepest = declared
    range = resolved(declared)
  }
  const token = deepest?.source.tokens[deepest.key]
  const shared = deepest && sharedPlace(deepest, message)
  if (shared) return shared
  return deepest && token && placeAt(deepest.source.path, deepest.source.text, token.start)
}
