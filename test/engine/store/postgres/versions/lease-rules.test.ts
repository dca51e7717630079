/** The rules of the lease, each in isolation and without a database; `lease.test.ts` shows their effect. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionLost } from '../../../../../src/engine/store/postgres/connections/failure.ts'
import type { DataRow } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { CacheLease } from '../../../../../src/engine/store/postgres/versions/lease.ts'
import { leaseMs, noticeMs } from '../../../../../src/engine/store/schema/postgres/session.ts'
import { stubConnection } from '../connections/stub-connection.ts'

/** When the question was sent. */
const sent = 1_000_000

/** A lease that asked at `sent` which nodes may write, and got these. */
function leaseWith(writers: readonly DataRow[] = [], lease = new CacheLease()): CacheLease {
  lease.renewal(sent).onAnswer(writers)
  return lease
}

const otherNode: DataRow = [1, 4711]

test('a lease does not hold before the first answer', () => {
  const lease = new CacheLease()
  assert.deepEqual([lease.holds(sent), lease.isDue(sent)], [false, true])
})

test('a lease starts when its question is sent and is due for renewal before it ends', () => {
  const lease = leaseWith()
  assert.equal(lease.holds(sent), true)
  assert.equal(lease.holds(sent + leaseMs - 0.001), true)
  assert.equal(lease.holds(sent + leaseMs), false)
  assert.equal(lease.isDue(sent + leaseMs / 2 - 0.001), false)
  assert.equal(lease.isDue(sent + leaseMs / 2), true)
})

test('a new writer waits longer than a lease lasts', () => {
  assert.ok(noticeMs > leaseMs)
})

test('while another node may write, the lease does not hold and is renewed less often', () => {
  const lease = leaseWith([otherNode])
  assert.equal(lease.holds(sent), false)
  assert.equal(lease.isDue(sent + leaseMs), false)
})

test('a lease holds until its end even after another node becomes a writer', () => {
  const lease = leaseWith()
  lease.renewal(sent + 10).onAnswer([otherNode])
  assert.equal(lease.holds(sent + leaseMs - 1), true)
  assert.equal(lease.holds(sent + leaseMs), false)
})

test('the lease does not hold while an own COMMIT is unanswered', () => {
  const lease = leaseWith()
  const [first, second] = [lease.commit(), lease.commit()]
  assert.equal(lease.holds(sent), false)
  first(true)
  assert.equal(lease.holds(sent), false)
  second(true)
  assert.equal(lease.holds(sent), true)
})

test('a COMMIT with an unknown outcome ends the lease and voids the questions sent before', () => {
  const lease = leaseWith()
  const pending = lease.renewal(sent + 1)
  lease.commit()(false)
  assert.deepEqual([lease.holds(sent), lease.isDue(sent)], [false, true])
  pending.onAnswer([])
  assert.equal(lease.holds(sent + 1), false)
  assert.equal(leaseWith([], lease).holds(sent), true)
})

/** Admits a new connection to the lease; reads the number of the node from the values of its lock statement. */
async function admitted(lease: CacheLease, others: (node: number) => readonly DataRow[]) {
  let node = 0
  const stub = stubConnection(text =>
    text.includes('pg_locks') ? [...others(node), [node, stub.connection.pid]] : undefined,
  )
  const { run } = stub.connection
  stub.connection.run = queries => {
    node = Number(queries[0]?.values[0])
    return run(queries)
  }
  const start = performance.now()
  await lease.admit(stub.connection)
  return { stub, node, waited: performance.now() - start }
}

test('the first connection of a node waits until the leases of other nodes have ended, later ones do not wait', async () => {
  const lease = new CacheLease()
  const first = await admitted(lease, () => [])
  assert.ok(first.waited >= noticeMs - 1, `${first.waited} ms`)
  const second = await admitted(lease, node => [[node, first.stub.connection.pid]])
  assert.ok(second.waited < noticeMs || second.node === first.node)
  assert.deepEqual(second.stub.statements.length, 2)
})

test('a connection of another node with the same process id does not count as an own connection', async () => {
  const lease = new CacheLease()
  const first = await admitted(lease, () => [])
  const own = first.stub.connection.pid
  const { waited } = await admitted(lease, node => [[node + 1, own]])
  assert.ok(waited >= noticeMs - 1, `${waited} ms`)
})

test('a closed connection does not count as an own connection', async () => {
  const lease = new CacheLease()
  const first = await admitted(lease, () => [])
  first.stub.close()
  const { waited } = await admitted(lease, node => [[node, first.stub.connection.pid]])
  assert.ok(waited >= noticeMs - 1, `${waited} ms`)
})

test('a connection is admitted once', async () => {
  const lease = new CacheLease()
  const { stub } = await admitted(lease, () => [])
  const before = stub.statements.length
  await lease.admit(stub.connection)
  assert.equal(stub.statements.length, before)
})

test('own connections do not end the lease of a node; connections that differ in node or process id do', async () => {
  const lease = new CacheLease()
  const { stub, node } = await admitted(lease, () => [])
  const { pid } = stub.connection
  assert.equal(leaseWith([[node, pid]], lease).holds(sent), true)
  for (const other of [
    [node + 1, pid],
    [node, pid + 1000],
  ]) {
    lease.end()
    assert.equal(leaseWith([[node, pid], other as DataRow], lease).holds(sent), false)
  }
})

test('a connection that breaks while it waits is not admitted', async () => {
  const lease = new CacheLease()
  const stub = stubConnection(() => new ConnectionLost('broken'))
  await assert.rejects(lease.admit(stub.connection), ConnectionLost)
  assert.equal(stub.connection.isClosed, true)
  const closing = stubConnection()
  const admission = lease.admit(closing.connection)
  closing.close()
  await assert.rejects(admission, ConnectionLost)
})
