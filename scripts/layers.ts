/** Holds the imports of `src/` to `src/layers.ts`: rooms, packages, no cycles. */
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Room, rooms, shared } from '../src/layers.ts'

export interface Source {
  /** Relative to `src/`, with `/`, e.g. `plan/guard.ts`. */
  readonly file: string
  readonly text: string
}

export interface Import {
  readonly specifier: string
  readonly line: number
  /** Gone when the types are stripped, so no part of a cycle at run time. */
  readonly typeOnly: boolean
}

interface Rules {
  readonly rooms: Readonly<Record<string, Room>>
  readonly shared: readonly string[]
}

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm
const statement =
  /(?:^|[\n;])[ \t]*(import|export)\b(\s+type\b(?!\s*,|\s+from))?([^'"`;]*?)\bfrom\s*['"]([^'"]+)['"]/g
const bare = /(?:^|[\n;])[ \t]*()()()import\s*['"]([^'"]+)['"]/g
const dynamic = /()()()\bimport\s*\(\s*['"]([^'"]+)['"]/g
const inlineTypesOnly = /^\s*\{\s*(?:type\s+\w+(?:\s+as\s+\w+)?\s*,?\s*)+\}\s*$/

/** Every import and re-export of a module's text, in no particular order. */
export function importsOf(text: string): readonly Import[] {
  const code = text.replace(comments, found => found.replace(/[^\n]/g, ' '))
  return [statement, bare, dynamic].flatMap(pattern =>
    [...code.matchAll(pattern)].map(match => ({
      specifier: match[4] ?? '',
      line: code.slice(0, match.index + match[0].length).split('\n').length,
      typeOnly: match[2] !== undefined && match[2] !== '' ? true : inlineTypesOnly.test(match[3] ?? ''),
    })),
  )
}

export function roomOf(file: string): string {
  return (file.split('/')[0] ?? '').replace(/\.ts$/, '')
}

/** `@scope/name/sub` and `name/sub` → the package; `node:x` stays. */
function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
}

function targetOf(file: string, specifier: string): string {
  return normalize(join(dirname(file), specifier))
    .split(sep)
    .join('/')
}

function roomFault(from: string, to: string, rules: Rules): string | undefined {
  if (from === to || rules.shared.includes(to)) return undefined
  const allowed = rules.rooms[from]?.imports ?? []
  if (allowed === 'all' || allowed.includes(to)) return undefined
  const may = [...rules.shared, ...allowed].join(', ')
  return `${from} may not import ${to}; it may import ${may}. Pass what it needs in as an argument.`
}

function packageFault(from: string, specifier: string, rules: Rules): string | undefined {
  const name = packageOf(specifier)
  if (isBuiltin(name) && !name.startsWith('node:')) return `write node:${name}`
  const owners = Object.keys(rules.rooms).filter(room => rules.rooms[room]?.packages?.includes(name))
  if (owners.includes(from) || (owners.length === 0 && isBuiltin(name))) return undefined
  if (owners.length > 0) return `only ${owners.join(', ')} may import ${name}.`
  return `${name} belongs to no room; add it to the packages of ${from} in src/layers.ts if it is wanted there.`
}

function faultsOf(source: Source, rules: Rules): string[] {
  const room = roomOf(source.file)
  if (rules.rooms[room] === undefined) {
    return [`src/${source.file}:1 ${room} is no known room; add it to src/layers.ts or move the file.`]
  }
  return importsOf(source.text).flatMap(({ specifier, line }) => {
    const fault = specifier.startsWith('.')
      ? roomFault(room, roomOf(targetOf(source.file, specifier)), rules)
      : packageFault(room, specifier, rules)
    return fault === undefined ? [] : [`src/${source.file}:${line} ${fault}`]
  })
}

/** The first cycle of imports that remain at run time, as one sentence for each file on which one closes. */
export function cyclesIn(sources: readonly Source[]): readonly string[] {
  const edges = new Map(
    sources.map(({ file, text }) => [
      file,
      importsOf(text)
        .filter(({ specifier, typeOnly }) => specifier.startsWith('.') && !typeOnly)
        .map(({ specifier }) => targetOf(file, specifier)),
    ]),
  )
  const done = new Set<string>()
  const faults: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at !== -1) {
      faults.push(
        `src/${file}:1 imports itself by ${[...path.slice(at), file].join(' → ')}. Move what they share to a file of its own.`,
      )
    }
    if (at !== -1 || done.has(file)) return
    for (const next of edges.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return faults
}

export function layerFaults(sources: readonly Source[], rules: Rules = { rooms, shared }): readonly string[] {
  return [...sources.flatMap(source => faultsOf(source, rules)), ...cyclesIn(sources)]
}

/** Every TypeScript file below a folder. */
export function readSources(folder: string): readonly Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(found => found.isFile() && found.name.endsWith('.ts'))
    .map(found => join(found.parentPath, found.name))
    .map(path => ({ file: relative(folder, path).split(sep).join('/'), text: readFileSync(path, 'utf8') }))
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const faults = layerFaults(readSources(join(import.meta.dirname, '..', 'src')))
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
