/** The data set: 1,000 users and as many posts as asked for. Made once, kept in the system's temporary folder. */

import { hash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { generateKey } from '../src/auth/key.ts'
import { startPortico } from './server.ts'

export interface DataSet {
  /** The file, or the URL. */
  readonly database: string
  readonly key: string
  readonly rows: number
}

const USERS = 1_000
const folder = join(tmpdir(), 'portico-bench')

/** Numbers that look random and are the same each time (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function fill(file: string, rows: number): void {
  const database = new DatabaseSync(file)
  const random = randomNumbers(1)
  const at = '2026-01-01T00:00:00.000Z'
  const [{ there } = { there: 1 }] = database.prepare('SELECT count(*) there FROM users').all() as {
    there: number
  }[]
  const addUser = database.prepare(
    `INSERT INTO users (name, email, role, created_at) VALUES (?, ?, 'user', ?)`,
  )
  const addPost = database.prepare(
    'INSERT INTO posts (title, body, author_id, created_at) VALUES (?, ?, ?, ?)',
  )
  database.exec('PRAGMA synchronous = OFF; BEGIN')
  for (let n = there; n < USERS; n++) addUser.run(`User ${n}`, `user${n}@example.com`, at)
  for (let n = 1; n <= rows; n++) {
    const body = `Body of post ${n}. `.padEnd(100, 'lorem ipsum ')
    addPost.run(`Title of post ${n}`.padEnd(20, '.'), body, 1 + Math.floor(random() * USERS), at)
  }
  database.exec('COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** A file for this schema and size, made if it is not there. */
export async function dataSet(rows: number): Promise<DataSet> {
  const schema = readFileSync(new URL('../docs/reference/blog.sql', import.meta.url), 'utf8')
  const name = `${hash('sha256', schema, 'hex').slice(0, 12)}-${rows}`
  const file = join(folder, `${name}.db`)
  const keyFile = `${file}.key`
  if (existsSync(file) && existsSync(keyFile))
    return { database: file, key: readFileSync(keyFile, 'utf8'), rows }
  mkdirSync(folder, { recursive: true })
  const making = join(folder, `${name}.${process.pid}.making`)
  const key = generateKey()
  const server = await startPortico(making, {
    PORTICO_ADMIN_EMAIL: 'admin@example.com',
    PORTICO_ADMIN_PASSWORD: 'not a secret, only a bench',
    PORTICO_ADMIN_API_KEY: key,
  })
  await server.stop()
  fill(making, rows)
  renameSync(making, file)
  writeFileSync(keyFile, key)
  return { database: file, key, rows }
}

/** What may be written to; `remove` takes it away again. */
export interface WorkCopy {
  readonly data: DataSet
  remove(): void | Promise<void>
}

export function copyOf(data: DataSet): WorkCopy {
  const file = join(folder, `work-${process.pid}-${data.rows}.db`)
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  }
  remove()
  copyFileSync(data.database, file)
  return { data: { ...data, database: file }, remove }
}
