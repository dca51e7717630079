/** The name of a database: a file, or the URL of a PostgreSQL database. */
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { refuseCopyingMistakes } from './copying-mistakes.ts'
import type { Kind } from './kinds.ts'
import { isPostgres, postgresUrl } from './postgres-url.ts'

export { isPostgres }

/** The name for logs: a URL without its password and options. */
export function publicName(name: string): string {
  if (!isPostgres(name)) return name
  return name.replace(/[?#].*$/s, '').replace(/(\/\/[^/]*?)(:[^/]*)@/, '$1@')
}

/** Paths that cannot be anything else. Other words, such as `undefined` or `host/name`, must be written as `./word`. */
const explicitPath = /^(?:\.{0,2}[\\/]|[a-z]:[\\/])/i
const databaseFile = /^[\p{L}\p{N}_][\p{L}\p{N} _./\\-]*\.(?:db|sqlite)\w*$/iu

/** The absolute path of an SQLite file, or the URL of a PostgreSQL database. */
function databaseName(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  refuseCopyingMistakes(value)
  if (isPostgres(value)) return postgresUrl(value)
  if (value.includes(':memory:')) {
    throw new RangeError('names a database in memory, which is not durable: name a file')
  }
  const scheme = /^[a-z][a-z0-9+.-]+:/i.exec(value)?.[0].toLowerCase()
  if (scheme === 'file:' || scheme === 'sqlite:') return fileOf(value.slice(scheme.length))
  if (scheme !== undefined || value.includes('://')) return undefined
  if (value.startsWith('~')) throw new RangeError('begins with `~`, which only shells expand: write the path')
  if (explicitPath.test(value) || databaseFile.test(value)) return pathOf(value)
  throw new RangeError(
    'names neither a file nor a PostgreSQL database for certain: write a file as `./name` or `/folder/name`, a PostgreSQL database as `postgres://user:password@host:5432/database`',
  )
}

/** What follows `file:` or `sqlite:`. */
function fileOf(path: string): string | undefined {
  if (!path.startsWith('//')) return pathOf(path)
  if (!path.startsWith('///')) return undefined
  if (path.includes('#')) throw new RangeError('contains `#`: write `%23` for this character')
  try {
    return pathOf(fileURLToPath(`file:${withoutParameters(path)}`))
  } catch (error) {
    if (error instanceof RangeError) throw error
    return undefined
  }
}

function pathOf(path: string): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  withoutParameters(path)
  if (/(?:^|[\\/])\.{0,2}$/.test(path))
    throw new RangeError('names a folder: name a file, e.g. `./data/portico.db`')
  return isAbsolute(path) ? path : resolve(path)
}

function withoutParameters(path: string): string {
  if (path.includes('?'))
    throw new RangeError('has parameters after `?`, which an SQLite file does not take here: remove them')
  return path
}

export const database: Kind<string> = {
  expected:
    'a file for SQLite, e.g. `./data/portico.db`, `file:./data/portico.db` or `sqlite:///var/lib/portico.db`, or a PostgreSQL database, e.g. `postgres://user:password@host:5432/database`',
  fromText: databaseName,
  fromValue: databaseName,
}

/** False for two URLs that are separated by something other than a comma, which would be parsed as one. */
function isOneUrl(value: unknown): boolean {
  if (typeof value !== 'string') return false
  refuseCopyingMistakes(value)
  if (!isPostgres(value) || value.split('://').length > 2) return false
  return postgresUrl(value) !== ''
}

function replicaUrls(value: unknown): readonly string[] | undefined {
  const list = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every(isOneUrl) ? list : undefined
}

export const replicas: Kind<readonly string[]> = {
  expected:
    'the URL of a PostgreSQL hot standby, e.g. `postgres://user:password@host:5432/database`, or several of them (separated by commas in the variable)',
  fromText: value => replicaUrls(value.split(',').map(url => url.trim())),
  fromValue: replicaUrls,
}
