/** The rules of the lease, each by itself, without a database: `lease.test.ts` shows what they are good for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionLost } from '../../../../src/store/postgres/connections/failure.ts'
import type { Row } from '../../../../src/store/postgres/connections/statement.ts'
import { Lease } from '../../../../src/store/postgres/versions/lease.ts'
import { LEASE, NOTICE } from '../../../../src/store/schema/postgres/session.ts'
import { stubWire } from '../connections/stub-wire.ts'

/** Beyond any answer. */
const sent = 1_000_000

/** A lease that has asked at `sent` who may write, and was told: these. */
function asked(writers: readonly Row[] = [], lease = new Lease()): Lease {
  lease.question(sent).answered(writers)
  return lease
}

const stranger: Row = [1, 4711]

test('nobody knows anything before the first answer', () => {
  const lease = new Lease()
  assert.deepEqual([lease.holds(sent), lease.isDue(sent)], [false, true])
})

test('it lasts from when the question was sent, and is asked for again before it ends', () => {
  const lease = asked()
  assert.equal(lease.holds(sent), true)
  assert.equal(lease.holds(sent + LEASE - 0.001), true)
  assert.equal(lease.holds(sent + LEASE), false)
  assert.equal(lease.isDue(sent + LEASE / 2 - 0.001), false)
  assert.equal(lease.isDue(sent + LEASE / 2), true)
})

test('whoever means to write waits for longer than it lasts', () => {
  assert.ok(NOTICE > LEASE)
})

test('there is none while another node may write, and then it is asked for less often', () => {
  const lease = asked([stranger])
  assert.equal(lease.holds(sent), false)
  assert.equal(lease.isDue(sent + LEASE), false)
})

test('what was held goes on to its end when another begins to mean to write', () => {
  const lease = asked()
  lease.question(sent + 10).answered([stranger])
  assert.equal(lease.holds(sent + LEASE - 1), true)
  assert.equal(lease.holds(sent + LEASE), false)
})

test('a commit that is not answered yet may be seen by others', () => {
  const lease = asked()
  const [one, other] = [lease.commit(), lease.commit()]
  assert.equal(lease.holds(sent), false)
  one(true)
  assert.equal(lease.holds(sent), false)
  other(true)
  assert.equal(lease.holds(sent), true)
})

test('one whose outcome nobody knows ends it, and what was asked before then', () => {
  const lease = asked()
  const under = lease.question(sent + 1)
  lease.commit()(false)
  assert.deepEqual([lease.holds(sent), lease.isDue(sent)], [false, true])
  under.answered([])
  assert.equal(lease.holds(sent + 1), false)
  assert.equal(asked([], lease).holds(sent), true)
})

/** Of a connection that asks to write: the node's number is in the values of its lock. */
async function admitted(lease: Lease, others: (node: number) => readonly Row[]) {
  let node = 0
  const stub = stubWire(text =>
    text.includes('pg_locks') ? [...others(node), [node, stub.wire.pid]] : undefined,
  )
  const { run } = stub.wire
  stub.wire.run = queries => {
    node = Number(queries[0]?.values[0])
    return run(queries)
  }
  const began = performance.now()
  await lease.admit(stub.wire)
  return { stub, node, waited: performance.now() - began }
}

test('the first connection of a node waits until every lease has ended that does not know of it; the next does not', async () => {
  const lease = new Lease()
  const first = await admitted(lease, () => [])
  assert.ok(first.waited >= NOTICE - 1, `${first.waited} ms`)
  const second = await admitted(lease, node => [[node, first.stub.wire.pid]])
  assert.ok(second.waited < NOTICE || second.node === first.node)
  assert.deepEqual(second.stub.asked.length, 2)
})

test('connections of other nodes speak for none of this one’s, whatever number their sessions have', async () => {
  const lease = new Lease()
  const first = await admitted(lease, () => [])
  const own = first.stub.wire.pid
  const { waited } = await admitted(lease, node => [[node + 1, own]])
  assert.ok(waited >= NOTICE - 1, `${waited} ms`)
})

test('one that has gone speaks for nobody', async () => {
  const lease = new Lease()
  const first = await admitted(lease, () => [])
  first.stub.close()
  const { waited } = await admitted(lease, node => [[node, first.stub.wire.pid]])
  assert.ok(waited >= NOTICE - 1, `${waited} ms`)
})

test('a connection is admitted once', async () => {
  const lease = new Lease()
  const { stub } = await admitted(lease, () => [])
  const before = stub.asked.length
  await lease.admit(stub.wire)
  assert.equal(stub.asked.length, before)
})

test('its own connections do not end a node’s lease; another’s of the same number do', async () => {
  const lease = new Lease()
  const { stub, node } = await admitted(lease, () => [])
  const { pid } = stub.wire
  assert.equal(asked([[node, pid]], lease).holds(sent), true)
  for (const other of [
    [node + 1, pid],
    [node, pid + 1000],
  ]) {
    lease.end()
    assert.equal(asked([[node, pid], other as Row], lease).holds(sent), false)
  }
})

test('a connection that breaks while it waits may not write', async () => {
  const lease = new Lease()
  const stub = stubWire(() => new ConnectionLost('broken'))
  await assert.rejects(lease.admit(stub.wire), ConnectionLost)
  assert.equal(stub.wire.isClosed, true)
  const closing = stubWire()
  const admission = lease.admit(closing.wire)
  closing.close()
  await assert.rejects(admission, ConnectionLost)
})
