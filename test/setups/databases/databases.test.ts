/** The databases that tests use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { query, withPostgres } from './postgres.ts'
import { PostgresServer } from './postgres-server.ts'
import { RedisServer, withRedis } from './redis.ts'

/** Sends a line to Redis; returns its reply. */
async function send(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write(`${line}\r\n`)
    const [data] = await once(socket, 'data')
    return String(data).trimEnd()
  } finally {
    socket.destroy()
  }
}

test('each test gets its own database, which is dropped afterwards', async () => {
  let first = ''
  await withPostgres(async url => {
    first = url
    await query(url, 'CREATE TABLE things (id int)')
    await withPostgres(async other => {
      assert.notEqual(other, url)
      assert.deepEqual(await query(other, "SELECT 1 FROM pg_tables WHERE tablename = 'things'"), [])
    })
    assert.deepEqual(await query(url, 'SELECT count(*)::int AS n FROM things'), [{ n: 0 }])
  })
  await assert.rejects(query(first, 'SELECT 1'), { code: '3D000' })
})

test('a killed PostgreSQL server keeps its committed data', async () => {
  const server = new PostgresServer()
  try {
    await server.start()
    await query(server.url, 'CREATE TABLE things (id int); INSERT INTO things VALUES (1)')
    await server.kill()
    await assert.rejects(query(server.url, 'SELECT 1'))
    await server.start()
    assert.deepEqual(await query(server.url, 'SELECT id FROM things'), [{ id: 1 }])
    await server.restart()
    assert.deepEqual(await query(server.url, 'SELECT id FROM things'), [{ id: 1 }])
  } finally {
    await server.remove()
  }
})

test('a killed Redis server is empty after its restart', async () => {
  const server = await RedisServer.start()
  try {
    const { port } = server
    assert.equal(await send(port, 'SET a 1'), '+OK')
    assert.equal(await send(port, 'EXISTS a'), ':1')
    await server.kill()
    await assert.rejects(send(port, 'PING'))
    await server.start()
    assert.equal(await send(port, 'EXISTS a'), ':0')
  } finally {
    await server.remove()
  }
})

test('the shared Redis server replies', () =>
  withRedis(async url => {
    assert.equal(await send(Number(new URL(url).port), 'PING'), '+PONG')
  }))
