/** The name of a database: a file, or the URL of a PostgreSQL database. */
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Kind } from './kinds.ts'

/** Whether a database's name is the URL of a PostgreSQL server. */
export function isPostgres(name: string): boolean {
  return /^postgres(ql)?:/i.test(name)
}

/** The name for logs: a URL without its password and options. */
export function publicName(name: string): string {
  if (!isPostgres(name)) return name
  return name.replace(/[?#].*$/s, '').replace(/(\/\/[^/]*?)(:[^/]*)@/, '$1@')
}

function postgresUrl(value: string): string {
  let url: URL
  try {
    url = new URL(value)
  } catch {
    throw new RangeError('must be a URL such as `postgres://user:password@host:5432/database`')
  }
  if (url.pathname.length < 2) {
    throw new RangeError('names no database: write it as `postgres://user:password@host:5432/database`')
  }
  return value
}

/** The absolute path of an SQLite file, or the URL of a PostgreSQL database. */
function databaseName(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  if (isPostgres(value)) return postgresUrl(value)
  if (value.includes(':memory:')) {
    throw new RangeError('names a database in memory, which is not durable: name a file')
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(value) && !/^(file|sqlite):/.test(value)) return undefined
  const path = value.replace(/^(file|sqlite):/, '')
  if (path.startsWith('//')) return fileOfUrl(path)
  return path === '' || path.includes('\0') ? undefined : isAbsolute(path) ? path : resolve(path)
}

function fileOfUrl(path: string): string | undefined {
  if (!path.startsWith('///')) return undefined
  try {
    return fileURLToPath(`file:${path}`)
  } catch {
    return undefined
  }
}

export const database: Kind<string> = {
  expected:
    'a file for SQLite, e.g. `./data/portico.db`, `file:./data/portico.db` or `sqlite:///var/lib/portico.db`, or a PostgreSQL database, e.g. `postgres://user:password@host:5432/database`',
  fromText: databaseName,
  fromValue: databaseName,
}

/** False for two URLs that are separated by something other than a comma, which would be parsed as one. */
function isOneUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !isPostgres(value) || value.split('://').length > 2) return false
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
