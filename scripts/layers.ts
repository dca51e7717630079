/** Checks the imports of `src/` against `src/layers.ts`: rooms, floors, packages, no cycles. */
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { floors, type Room, rooms, shared } from '../src/layers.ts'

export interface Source {
  /** Relative to `src/`, with `/`, e.g. `engine/plan/guard/guard.ts`. */
  readonly file: string
  readonly text: string
}

export interface Import {
  readonly specifier: string
  readonly line: number
}

interface Rules {
  readonly floors: readonly string[]
  readonly rooms: Readonly<Record<string, Room>>
  readonly shared: readonly string[]
}

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm
const statement = /(?:^|[\n;])[ \t]*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/g
const bare = /(?:^|[\n;])[ \t]*import\s*['"]([^'"]+)['"]/g
const dynamic = /\bimport\s*\(\s*['"]([^'"]+)['"]/g

/** Every import and re-export of a module's text, in no particular order. */
export function importsOf(text: string): readonly Import[] {
  const code = text.replace(comments, comment => comment.replace(/[^\n]/g, ' '))
  return [statement, bare, dynamic].flatMap(pattern =>
    [...code.matchAll(pattern)].map(match => ({
      specifier: match[1] ?? '',
      line: code.slice(0, match.index + match[0].length).split('\n').length,
    })),
  )
}

/** The room of a file: `engine/plan`, a floor without rooms, or an entry such as `index`. */
export function roomOf(file: string, known: Rules['rooms'] = rooms): string {
  const [floor = '', name = ''] = file.split('/')
  return known[floor] !== undefined || !file.includes('/') ? floor.replace(/\.ts$/, '') : `${floor}/${name}`
}

/** The height of a room's floor. Entries of the package are above all. */
function heightOf(room: string, { floors }: Rules): number {
  const height = floors.indexOf(room.split('/')[0] ?? '')
  return height < 0 ? floors.length : height
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

function importFault(from: string, to: string, rules: Rules): string | undefined {
  if (from === to || rules.shared.includes(to)) return undefined
  const allowed = rules.rooms[from]?.imports ?? []
  const isAllowed = allowed === 'all' ? heightOf(to, rules) <= heightOf(from, rules) : allowed.includes(to)
  if (isAllowed) return undefined
  const may = allowed === 'all' ? 'its own floor and those below' : [...rules.shared, ...allowed].join(', ')
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
  const room = roomOf(source.file, rules.rooms)
  if (rules.rooms[room] === undefined) {
    return [`src/${source.file}:1 ${room} is no known room; add it to src/layers.ts or move the file.`]
  }
  return importsOf(source.text).flatMap(({ specifier, line }) => {
    const fault = specifier.startsWith('.')
      ? importFault(room, roomOf(targetOf(source.file, specifier), rules.rooms), rules)
      : packageFault(room, specifier, rules)
    return fault === undefined ? [] : [`src/${source.file}:${line} ${fault}`]
  })
}

/** What a room may import must not be above it. */
function tableFaults(rules: Rules): readonly string[] {
  return Object.entries(rules.rooms).flatMap(([room, { imports }]) =>
    (imports === 'all' ? [] : imports)
      .filter(other => heightOf(other, rules) > heightOf(room, rules))
      .map(other => `src/layers.ts:1 ${room} must not import ${other}, which is on a higher floor.`),
  )
}

/** The files of a source and all that it imports, directly and indirectly. */
function reachedFrom(file: string, imports: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>()
  const visit = (from: string): void => {
    for (const next of imports.get(from) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      visit(next)
    }
  }
  visit(file)
  return reached
}

/** The sets of files that import each other, directly or in a circle; imports of types count too. */
export function cyclesIn(sources: readonly Source[]): readonly (readonly string[])[] {
  const imports = new Map(
    sources.map(({ file, text }) => [
      file,
      importsOf(text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => targetOf(file, specifier)),
    ]),
  )
  const reached = new Map([...imports.keys()].map(file => [file, reachedFrom(file, imports)]))
  const circular = [...reached].filter(([file, all]) => all.has(file))
  const cycles = circular.map(([file, all]) =>
    circular.filter(([other, back]) => all.has(other) && back.has(file)).map(([other]) => other),
  )
  return [...new Map(cycles.map(cycle => [cycle.toSorted().join(' '), cycle.toSorted()])).values()]
}

function cycleFaults(sources: readonly Source[]): readonly string[] {
  return cyclesIn(sources).map(
    ([first, ...others]) =>
      `src/${first}:1 and ${others.join(', ') || 'itself'} import each other. Move what they share to a file of its own.`,
  )
}

export function layerFaults(
  sources: readonly Source[],
  rules: Rules = { floors, rooms, shared },
): readonly string[] {
  return [
    ...tableFaults(rules),
    ...sources.flatMap(source => faultsOf(source, rules)),
    ...cycleFaults(sources),
  ]
}

/** Every TypeScript file below a folder. */
export function readSources(folder: string): readonly Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => ({ file: relative(folder, path).split(sep).join('/'), text: readFileSync(path, 'utf8') }))
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const faults = layerFaults(readSources(join(import.meta.dirname, '..', 'src')))
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
