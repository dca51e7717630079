/** Errors of SQLite, and a database that is locked or closed. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ApiError } from '../../../../src/base/errors.ts'
import { system } from '../../../../src/base/principal.ts'
import { failureOf, isForeignKeyFailure } from '../../../../src/engine/store/sqlite/failure.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, fields, withFile } from '../blog.ts'
import { failure } from '../contract.ts'

/** The error of a statement that fails. */
function errorOf(...texts: string[]): unknown {
  const database = new DatabaseSync(':memory:')
  try {
    for (const text of texts) database.exec(text)
  } catch (error) {
    return error
  } finally {
    database.close()
  }
  return assert.fail('nothing failed')
}

const table = 'CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, b, c NOT NULL DEFAULT 0, UNIQUE (a, b))'

test('a duplicate value is a conflict that names the fields of the violated constraint', () => {
  const insert = (values: string) => `INSERT INTO t (id, a, b) VALUES (${values})`
  const error = failureOf(errorOf(table, insert('1, 2, 3'), insert('2, 2, 4')))
  assert.deepEqual([error.code, error.details?.map(detail => detail.field)], ['CONFLICT', ['a']])
  const id = failureOf(errorOf(table, insert('1, 2, 3'), insert('1, 4, 4')))
  assert.deepEqual([id.code, id.details?.map(detail => detail.field)], ['CONFLICT', ['id']])
  const pairs = 'CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, UNIQUE (a, b))'
  const pair = failureOf(errorOf(pairs, insert('1, 2, 3'), insert('2, 2, 3')))
  assert.deepEqual(
    pair.details?.map(detail => detail.field),
    ['a', 'b'],
  )
  assert.match(pair.details?.[0]?.message ?? '', /a and b/)
})

test('an unexpected error becomes INTERNAL_ERROR and keeps its cause', () => {
  const causes = [
    errorOf(table, 'INSERT INTO t (c) VALUES (NULL)'),
    errorOf('SELECT nonsense'),
    new TypeError('x'),
    'not even an error',
    Object.assign(new Error('odd'), { errcode: 'text' }),
  ]
  for (const cause of causes) {
    const error = failureOf(cause)
    assert.equal(error.code, 'INTERNAL_ERROR')
    assert.equal(error.cause, cause)
    assert.equal(error.message, 'Something went wrong on our side.')
  }
})

test('a temporary error, or one that an operator can fix, is UNAVAILABLE, for extended codes too', () => {
  const codes = [5, 6, 7, 8, 10, 11, 13, 14, 261, 517, 778, 1034, 2570]
  for (const errcode of codes) {
    const error = failureOf(Object.assign(new Error('from SQLite'), { errcode }))
    assert.equal(error.code, 'UNAVAILABLE', `${errcode}`)
    assert.ok(!error.message.includes('SQLite'))
  }
  const full = failureOf(errorOf('PRAGMA max_page_count = 2', 'CREATE TABLE a (x)', 'CREATE TABLE b (x)'))
  assert.equal(full.code, 'UNAVAILABLE')
})

test('an ApiError is passed on unchanged, and a foreign key violation is recognized', () => {
  const own = new ApiError('NOT_FOUND')
  assert.equal(failureOf(own), own)
  const reference = ['PRAGMA foreign_keys = ON', table, 'CREATE TABLE u (t REFERENCES t (id))']
  assert.ok(isForeignKeyFailure(errorOf(...reference, 'INSERT INTO u VALUES (9)')))
  assert.ok(!isForeignKeyFailure(errorOf('SELECT nonsense')))
})

test('while another process holds the write lock, writes wait and are refused and reads continue; afterwards both work', () =>
  withFile(async file => {
    const store = openSqlite(blog, { file, busyTimeoutMs: 20, cacheBytes: 0 })
    const client = new Client(store)
    const { id } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    other.prepare('UPDATE users SET name = ? WHERE id = ?').run('Other', id)
    const results = await Promise.allSettled([
      client.update('users', id, { name: 'Mine' }),
      client.create('users', { name: 'Ben', email: 'ben@example.com' }),
    ])
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      assert.equal(result.reason.code, 'UNAVAILABLE')
    }
    assert.equal(((await client.item('users', id)) as { name: string }).name, 'Ann')
    other.exec('COMMIT')
    other.close()
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(((await client.item('users', id)) as { name: string }).name, 'Other')
    await client.update('users', id, { name: 'Mine' })
    assert.equal(((await client.item('users', id)) as { name: string }).name, 'Mine')
    await store.close()
  }))

test('closing stores the waiting writes; afterwards all calls are refused, and closing again has no effect', () =>
  withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const waiting = client.create('users', { name: 'Ann', email: 'ann@example.com' })
    await new Promise(resolve => process.nextTick(resolve))
    await store.close()
    const { id } = await waiting
    await assert.rejects(
      client.create('users', { name: 'Ben', email: 'ben@example.com' }),
      failure('UNAVAILABLE'),
    )
    const item = { kind: 'item', collection: 'users', id: 0, select: fields('id') } as const
    await assert.rejects(client.read({ shape: item, args: [id] }, system), failure('UNAVAILABLE'))
    assert.throws(() => store.version('users'), failure('UNAVAILABLE'))
    assert.throws(() => store.ping(), failure('UNAVAILABLE'))
    await store.close()
    const again = openSqlite(blog, { file })
    assert.equal(((await new Client(again).item('users', id)) as { name: string }).name, 'Ann')
    await again.close()
  }))
