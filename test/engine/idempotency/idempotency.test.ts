/** Retries after a fault, or while the first request still runs. */

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { suite, test } from 'node:test'
import pg from 'pg'
import { createRest, errorReply } from '../../../src/api/rest/rest.ts'
import type { Reply } from '../../../src/base/call.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { createAllowance } from '../../../src/engine/idempotency/allowance.ts'
import { createIdempotency, type IdempotencyParts } from '../../../src/engine/idempotency/idempotency.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { type DatabaseKind, databaseKinds, postgres } from '../../api/contract/rest/databases.ts'
import { seedItem, toCall } from '../../api/contract/rest/harness.ts'
import { testOfOthers } from '../../chosen.ts'
import blog from '../../models/blog.ts'

const model = checkModel(blog)

interface Node {
  readonly run: Run
  /** `who`: Ann if omitted. */
  post(key: string, body: object, who?: Principal): Promise<Reply>
  count(): Promise<number>
}

type NodeOptions = Partial<Pick<IdempotencyParts, 'counters' | 'now'>> & {
  readonly around?: (run: Run) => Run
}

/** Runs `use` with a database, a function that opens nodes on it, and the user who writes. */
async function withNodes(
  kind: DatabaseKind,
  use: (open: (options?: NodeOptions) => Promise<Node>, url: string, ann: Principal) => Promise<void>,
): Promise<void> {
  const database = await kind.create(model)
  const stores: { close(): Promise<void> }[] = []
  const first = await database.open(model)
  stores.push(first)
  const seeding = createRun(createGuard(model), first)
  const id = await seedItem(seeding, 'users', { name: 'Ann', email: 'ann@example.com' })
  const ann = user(id, 'user', 'all')
  const open = async ({ around = run => run, ...given }: NodeOptions = {}): Promise<Node> => {
    const store = stores.length === 1 ? first : await database.open(model)
    stores.push(store)
    const plain = createRun(createGuard(model), store)
    const run = around(plain)
    const parts = { run: plain, records: store.records, counters: memoryCounters(), ...given }
    const rest = createRest({
      ...{ model, run, hooks: new Map(), baseUrl: undefined },
      idempotency: createIdempotency(parts),
    })
    return {
      run,
      async post(key, body, who = ann) {
        const headers = { 'idempotency-key': key }
        const call = toCall({ method: 'POST', url: '/api/v1/posts', headers, body })
        try {
          return await rest(call, who)
        } catch (error) {
          return errorReply(error, call)
        }
      },
      async count() {
        const reply = await rest(toCall({ url: '/api/v1/posts' }), ann)
        return JSON.parse(String(reply.body)).meta.total
      },
    }
  }
  try {
    await use(open, database.url, ann)
  } finally {
    await Promise.all([...new Set(stores)].map(store => store.close()))
    await database.drop()
  }
}

const codeOf = ({ status, body }: Reply) => [status, JSON.parse(String(body)).error?.code]

function headerOf({ headers }: Reply, name: string): string | undefined {
  const position = headers.findIndex((text, index) => index % 2 === 0 && text === name)
  return position === -1 ? undefined : headers[position + 1]
}

/** A run whose writes get the outcome `fate` after their commit. */
function after(fate: (outcome: Promise<unknown>) => Promise<never>) {
  return (run: Run): Run => ({ ...run, write: (...args) => fate(run.write(...args)) })
}

for (const kind of databaseKinds) {
  suite(`retries on ${kind.name}`, () => {
    test('an unconfirmed commit is found by its record', async () => {
      await withNodes(kind, async open => {
        const unconfirmed = () => new ApiError('UNAVAILABLE', 'Lost.', { isUnconfirmed: true })
        const failing = await open({
          around: after(async outcome => {
            await outcome
            throw unconfirmed()
          }),
        })
        const [created, again] = [
          await failing.post('a', { title: 'One' }),
          await failing.post('a', { title: 'One' }),
        ]
        assert.equal(created.status, 201)
        assert.equal(again.body, created.body)
        assert.equal(headerOf(again, 'Idempotent-Replayed'), 'true')
        assert.equal(await failing.count(), 1)
      })
    })

    test('when no record is found, the client gets a 503 that tells it to retry with the key', async () => {
      await withNodes(kind, async open => {
        // The steps have run, and nothing was committed.
        const undone = new Error('undone')
        const failing = await open({
          around: run => ({
            ...run,
            write: (plan, principal, within) =>
              run
                .write(plan, principal, function* (settled) {
                  if (within) yield* within(settled)
                  throw new ApiError('INTERNAL_ERROR', undefined, { cause: undone })
                })
                .catch(error => {
                  assert.equal(error.cause, undone)
                  throw new ApiError('UNAVAILABLE', 'Lost.', { isUnconfirmed: true })
                }),
          }),
        })
        const unconfirmed = await failing.post('a', { title: 'One' })
        assert.deepEqual(codeOf(unconfirmed), [503, 'UNAVAILABLE'])
        assert.equal(headerOf(unconfirmed, 'Retry-After'), '1')
        const otherNode = await open()
        const created = await otherNode.post('a', { title: 'One' })
        assert.deepEqual([created.status, headerOf(created, 'Idempotent-Replayed')], [201, undefined])
        assert.equal(await otherNode.count(), 1)
      })
    })

    test('a write that is refused after its commit leaves the key free', async () => {
      await withNodes(kind, async open => {
        const refusing = await open({
          around: after(async outcome => {
            await outcome
            throw new ApiError('FORBIDDEN')
          }),
        })
        assert.deepEqual(codeOf(await refusing.post('a', { title: 'One' })), [403, 'FORBIDDEN'])
        const otherNode = await open()
        const created = await otherNode.post('a', { title: 'One' })
        assert.deepEqual([created.status, headerOf(created, 'Idempotent-Replayed')], [201, undefined])
      })
    })

    test('a retry while the first request runs is a 409', async () => {
      await withNodes(kind, async open => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const started = Promise.withResolvers<void>()
        const slow = await open({
          around: run => ({
            ...run,
            write: async (...args) => {
              started.resolve()
              await promise
              return run.write(...args)
            },
          }),
        })
        const first = slow.post('a', { title: 'One' })
        await started.promise
        const second = await slow.post('a', { title: 'One' })
        assert.deepEqual(codeOf(second), [409, 'CONFLICT'])
        assert.equal(headerOf(second, 'Retry-After'), '1')
        const third = slow.post('a', { title: 'One' })
        resolve()
        assert.equal((await first).status, 201)
        assert.equal((await third).body, (await first).body)
        assert.equal(await slow.count(), 1)
      })
    })

    test('a key is free after 24 hours', async () => {
      await withNodes(kind, async open => {
        const yesterday = await open({ now: () => Date.now() - 24 * 60 * 60 * 1000 })
        await yesterday.post('a', { title: 'One' })
        const created = await yesterday.post('a', { title: 'Another' })
        assert.deepEqual([created.status, headerOf(created, 'Idempotent-Replayed')], [201, undefined])
        const hourMs = 60 * 60 * 1000
        const recent = await open({ now: () => Date.now() - 23 * hourMs })
        await recent.post('b', { title: 'One' })
        assert.equal(headerOf(await recent.post('b', { title: 'One' }), 'Idempotent-Replayed'), 'true')
      })
    })

    test('a caller whose token has other claims than the first one gets the id', async () => {
      await withNodes(kind, async (open, _url, ann) => {
        const node = await open()
        const member = (org: string) => ({ ...ann, claims: { key: org, values: new Map([['org', org]]) } })
        const body = { title: 'One' }
        const created = await node.post('a', body, member('red'))
        const { id } = JSON.parse(String(created.body))
        for (const other of [member('blue'), ann]) {
          const { status, body: shown } = await node.post('a', body, other)
          assert.deepEqual([status, shown], [201, `{"id":${id}}`])
        }
        assert.equal((await node.post('a', body, member('red'))).body, created.body)
      })
    })

    test('a caller through another app than the first one gets the id', async () => {
      await withNodes(kind, async (open, _url, ann) => {
        const node = await open()
        const through = (id: number) => ({ ...ann, app: { id, name: 'An app' } })
        const body = { title: 'One' }
        const created = await node.post('a', body, through(1))
        const { id } = JSON.parse(String(created.body))
        for (const other of [through(2), ann]) {
          const { status, body: shown } = await node.post('a', body, other)
          assert.deepEqual([status, shown], [201, `{"id":${id}}`])
        }
        assert.equal((await node.post('a', body, through(1))).body, created.body)
      })
    })

    test('a caller over the storage limit gets ids instead of long responses', async () => {
      await withNodes(kind, async (open, _url, { budgetKey }) => {
        const counters = memoryCounters()
        const node = await open({ counters })
        const long = { title: 'Long', body: 'x'.repeat(5000) }
        const whole = await node.post('a', long)
        assert.equal((await node.post('a', long)).body, whole.body)
        createAllowance(counters).end(budgetKey, 64 * 1024 * 1024)
        const cut = await node.post('b', long)
        const { id } = JSON.parse(String(cut.body))
        const second = await node.post('b', long)
        assert.deepEqual([second.status, second.body], [201, `{"id":${id}}`])
        const small = await node.post('c', { title: 'Small' })
        assert.equal((await node.post('c', { title: 'Small' })).body, small.body)
        // A refused write releases its share.
        const remaining = () => counters.take(`idempotency:${budgetKey}`, 1_500_000, 0, 86_400).remaining
        const before = remaining()
        assert.equal((await node.post('d', { nonsense: 1 })).status, 400)
        assert.equal(remaining(), before)
        assert.ok(counters.take(`idempotency:${budgetKey}`, 1_500_000, before, 86_400).granted)
        const refused = await node.post('e', { title: 'One too many' })
        assert.deepEqual(codeOf(refused), [429, 'RATE_LIMITED'])
        assert.ok(Number(headerOf(refused, 'Retry-After')) > 0)
        assert.equal((await node.post('c', { title: 'Small' })).status, 201)
      })
    })
  })
}

testOfOthers(
  'a key in an open transaction of another node is a 409, and free after its rollback',
  async () => {
    await withNodes(postgres, async (open, url, { budgetKey }) => {
      const node = await open()
      const id = hash('sha256', JSON.stringify([budgetKey, 'a']), 'base64url')
      const otherClient = new pg.Client(url)
      await otherClient.connect()
      try {
        await otherClient.query('BEGIN')
        await otherClient.query(
          `INSERT INTO "_records" ("kind", "id", "payload", "expires_at") VALUES ('IdempotencyKey', $1, '{}', $2)`,
          [id, Date.now() + 60_000],
        )
        assert.deepEqual(codeOf(await node.post('a', { title: 'One' })), [409, 'CONFLICT'])
        // Other writes succeed meanwhile.
        assert.equal((await node.post('b', { title: 'Other' })).status, 201)
        await otherClient.query('ROLLBACK')
      } finally {
        await otherClient.end()
      }
      const created = await node.post('a', { title: 'One' })
      assert.equal(created.status, 201)
      assert.equal(await node.count(), 2)
    })
  },
)
