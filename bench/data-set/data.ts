/** The data sets: 1,000 users and any number of posts. Created once, and kept in the system's temporary folder. */

import { hash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fillSearch } from '../../src/engine/store/schema/sqlite/migrate.ts'
import { generateKey } from '../../src/identity/keys/key.ts'
import { prepareLimit } from '../servers/limit-schema.ts'
import { startPortico } from '../servers/server.ts'
import { createdAt, randomNumbers, searchedBody, statusOf } from './posts.ts'

/** `blog`: the reference model. `editorial`: the bench's own, bench/data-set/model.ts. */
export type ModelName = 'blog' | 'editorial'

export interface DataSet {
  /** The file, or the URL. */
  readonly database: string
  readonly key: string
  readonly rows: number
  /** The file of its model. */
  readonly model: string
}

export const modelFiles: Readonly<Record<ModelName, string>> = {
  blog: 'examples/blog/model.ts',
  editorial: 'bench/data-set/model.ts',
}

export const userCount = 1_000
/** One of this many users is an administrator. */
const usersPerAdmin = 100
const folder = join(tmpdir(), 'portico-bench')

function fillUsers(database: DatabaseSync): void {
  const [{ count } = { count: 1 }] = database.prepare('SELECT count(*) count FROM users').all() as {
    count: number
  }[]
  const add = database.prepare(`INSERT INTO users (name, email, role, created_at) VALUES (?, ?, ?, ?)`)
  for (let n = count; n < userCount; n++) {
    const role = n % usersPerAdmin === 0 ? 'admin' : 'user'
    add.run(`User ${n}`, `user${n}@example.com`, role, '2025-01-01T00:00:00.000Z')
  }
}

type Fill = (database: DatabaseSync, rows: number) => void

function fillBlog(database: DatabaseSync, rows: number): void {
  const random = randomNumbers(1)
  const add = database.prepare('INSERT INTO posts (title, body, author_id, created_at) VALUES (?, ?, ?, ?)')
  for (let n = 1; n <= rows; n++) {
    const body = `Body of post ${n}. `.padEnd(100, 'lorem ipsum ')
    const author = 1 + Math.floor(random() * userCount)
    add.run(`Title of post ${n}`.padEnd(20, '.'), body, author, createdAt(n, rows, random))
  }
}

function fillEditorial(database: DatabaseSync, rows: number): void {
  const random = randomNumbers(1)
  const add = database.prepare(
    'INSERT INTO posts (title, body, status, author_id, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  for (let n = 1; n <= rows; n++) {
    const author = 1 + Math.floor(random() * userCount)
    const createdTime = createdAt(n, rows, random)
    add.run(`Title of post ${n}`, searchedBody(n, rows, random), statusOf(random), author, createdTime)
  }
  fillSearch(database, { name: 'posts', search: ['title', 'body'] })
}

const fills: Readonly<Record<ModelName, Fill>> = { blog: fillBlog, editorial: fillEditorial }

/** Adds users and `rows` posts to a database that Portico has created. */
export function fill(file: string, rows: number, model: ModelName): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA synchronous = OFF; BEGIN')
  fillUsers(database)
  fills[model](database, rows)
  database.exec('COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** The name changes with the schema and with the generated data. */
function fileName(rows: number, model: ModelName): string {
  const sources = [
    '../../docs/reference/blog.sql',
    'data.ts',
    'posts.ts',
    'model.ts',
    '../servers/limit-schema.ts',
  ]
  const text = sources.map(source => readFileSync(new URL(source, import.meta.url), 'utf8')).join('\n')
  return `${hash('sha256', text, 'hex').slice(0, 12)}-${model}-${rows}`
}

/** The file for this schema and size, created if it does not exist. */
export async function dataSet(rows: number, model: ModelName = 'blog'): Promise<DataSet> {
  const name = fileName(rows, model)
  const file = join(folder, `${name}.db`)
  const keyFile = `${file}.key`
  const data = { database: file, rows, model: modelFiles[model] }
  if (existsSync(file) && existsSync(keyFile)) return { ...data, key: readFileSync(keyFile, 'utf8') }
  mkdirSync(folder, { recursive: true })
  const partial = join(folder, `${name}.${process.pid}.partial`)
  const key = generateKey()
  const server = await startPortico(partial, {
    PORTICO_MODEL: modelFiles[model],
    PORTICO_ADMIN_EMAIL: 'admin@example.com',
    PORTICO_ADMIN_PASSWORD: 'not a secret, only a bench',
    PORTICO_ADMIN_API_KEY: key,
  })
  await server.stop()
  fill(partial, rows, model)
  renameSync(partial, file)
  writeFileSync(keyFile, key)
  return { ...data, key }
}

/** The same rows for the hand-written server, with its additional tables and indexes. */
export function limitDataSet(data: DataSet): DataSet {
  const file = `${data.database}.limit`
  if (!existsSync(file)) {
    const partial = `${file}.${process.pid}.partial`
    copyFileSync(data.database, partial)
    const database = new DatabaseSync(partial)
    database.exec('PRAGMA synchronous = OFF')
    prepareLimit(database)
    database.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
    renameSync(partial, file)
  }
  return { ...data, database: file }
}

/** A copy that may be written to; `remove` deletes it. */
export interface WorkCopy {
  readonly data: DataSet
  remove(): void | Promise<void>
}

/** `name` distinguishes copies that are used at the same time. */
export function copyOf(data: DataSet, name = 'work'): WorkCopy {
  const file = join(folder, `${name}-${process.pid}-${data.rows}.db`)
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  }
  remove()
  copyFileSync(data.database, file)
  return { data: { ...data, database: file }, remove }
}
