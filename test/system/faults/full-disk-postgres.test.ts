/** PostgreSQL's disk is full: writes are refused, reads work, and `/readyz` says so until there is space again. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ApiError } from '../../../src/base/errors.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { blog, Client } from '../../engine/store/blog.ts'
import { query } from '../../setups/databases/postgres.ts'
import { PostgresServer } from '../../setups/databases/postgres-server.ts'

/** Room for an empty database and a few megabytes. */
const diskMegabytes = 24
const name = 'small_disk'

/** A small file system that PostgreSQL can use as a tablespace; undefined where this process may not mount one. */
async function smallDisk(admin: string) {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m`, 'tmpfs', folder])
  const remove = () => {
    // Lazily: the server may have files open.
    if (mounted.status === 0) spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const [row] = await query(admin, 'SHOW data_directory')
    const { uid, gid } = statSync(String(row?.['data_directory']))
    if (mounted.status === 0) chownSync(folder, uid, gid)
  } catch {
    // The server runs on another machine.
    remove()
    return undefined
  }
  if (mounted.status === 0) return { folder, remove }
  remove()
  return undefined
}

test('on a full disk, writes and /readyz are refused although single commits find space', async context => {
  // One of its own: while a disk is full, checkpoints fail, and with them what other tests do on the server.
  const server = new PostgresServer()
  await server.start()
  const admin = server.url
  const disk = await smallDisk(admin)
  if (disk === undefined) {
    await server.remove()
    return context.skip('only root can mount a small file system')
  }
  try {
    await query(admin, `CREATE TABLESPACE "${name}" LOCATION '${disk.folder}'`)
    await query(admin, `CREATE DATABASE "${name}" TEMPLATE template0 TABLESPACE "${name}"`)
    const url = new URL(admin)
    url.pathname = `/${name}`
    await refusesWhileFull(url.href)
  } finally {
    await server.remove()
    disk.remove()
  }
})

async function refusesWhileFull(url: string): Promise<void> {
  const store = await openPostgres(blog, { url })
  const client = new Client(store)
  try {
    const { id } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
    await store.check()
    await query(url, 'CREATE TABLE filler (text text)')
    for (const rows of [1000, 100, 10, 1]) await fill(url, rows)
    await assert.rejects(async () => {
      for (let n = 0; n < 1000; n++) {
        await client.create('posts', { title: `post ${n}`, body: 'x'.repeat(1500), author_id: id })
      }
    }, isUnavailable)
    for (let times = 0; times < 3; times++) {
      // It may find the space that it needs.
      await client.update('users', id, { name: `Ann ${times}` }).catch(() => undefined)
      await assert.rejects(store.check(), {
        message: 'Changes cannot be stored: the disk of the database is full.',
      })
    }
    assert.match(JSON.stringify(await client.item('users', id)), /"name":"Ann/)
    await query(url, 'DROP TABLE filler')
    await store.check()
    await client.create('posts', { title: 'space again', author_id: id })
  } finally {
    await store.close()
  }
}

const isUnavailable = (error: ApiError) => error.code === 'UNAVAILABLE'

/** Adds rows of about a page each until the disk is full. */
async function fill(url: string, rows: number): Promise<void> {
  const insert = `INSERT INTO filler SELECT repeat(md5(random()::text), 200) FROM generate_series(1, ${rows})`
  try {
    await query(url, 'ALTER TABLE filler ALTER COLUMN text SET STORAGE PLAIN')
    for (;;) await query(url, insert)
  } catch (error) {
    if ((error as { readonly code?: string }).code !== '53100') throw error
  }
}
