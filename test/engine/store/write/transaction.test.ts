/** Transactions of several steps on every database. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import type { ItemAnswer, ListAnswer, WriteAnswer } from '../../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { Plan, ReadShape, WriteShape } from '../../../../src/engine/plan/plan.ts'
import type { RecordChange, StepAnswer, StepOf } from '../../../../src/engine/plan/transaction.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { testOfOthers } from '../../../chosen.ts'
import { blog, Client, fields, listOfPosts, parsed } from '../blog.ts'
import { failure } from '../contract.ts'
import { type DatabaseKind, databaseKinds, postgres, sqlite, type TestDatabase } from '../databases.ts'

type Step = StepOf<Plan<ReadShape> | Plan<WriteShape>>
type Program<T> = Generator<Step, T, StepAnswer>

interface OpenedStore {
  readonly store: Store
  readonly client: Client
  readonly annId: number
  readonly benId: number
}

function within(databaseKind: DatabaseKind, use: (opened: OpenedStore) => Promise<void>) {
  return () =>
    databaseKind.within(async database => {
      const store = await database.open(blog)
      try {
        const client = new Client(store)
        const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
        const ben = await client.create('users', { name: 'Ben', email: 'ben@example.com' })
        await use({ store, client, annId: ann.id, benId: ben.id })
      } finally {
        await store.close()
      }
    })
}

/** The first 100 posts by id, with the total. */
const posts = (client: Client) => client.list(listOfPosts, [0, 100])

async function titles(client: Client): Promise<unknown[]> {
  return ((await posts(client)).items ?? []).map(({ title }) => title)
}

const record = (id: string): RecordChange => ({
  kind: 'add',
  record: { kind: 'Test', id, payload: '{}', expiresAt: null },
})

for (const databaseKind of databaseKinds) {
  describe(`transactions on ${databaseKind.name}`, () => {
    it(
      'read their own changes in lists, totals and items, and others see them afterwards',
      within(databaseKind, async ({ client, annId }) => {
        await client.create('posts', { title: 'before', author_id: annId })
        // The cached list must not be used by the transaction, nor the transaction's list be cached.
        assert.equal((await posts(client)).total, 1)
        const seen = await client.transaction(function* (): Program<unknown> {
          const { id } = (yield client.creation('posts', { title: 'a', author_id: annId })) as WriteAnswer
          const list = (yield { shape: listOfPosts, args: [0, 100] }) as ListAnswer
          yield client.change('merge', 'posts', id, { title: 'b' })
          const item = (yield client.itemRead('posts', id)) as ItemAnswer
          yield client.deletion('posts', 1)
          const rest = (yield { shape: listOfPosts, args: [0, 100] }) as ListAnswer
          return [
            list.total,
            list.text,
            (parsed(item.text) as { title: string }).title,
            rest.total,
            rest.text,
          ]
        })
        assert.deepEqual(seen, [
          2,
          '[{"id":1,"title":"before"},{"id":2,"title":"a"}]',
          'b',
          1,
          '[{"id":2,"title":"b"}]',
        ])
        const after = await posts(client)
        assert.deepEqual([after.total, after.items], [1, [{ id: 2, title: 'b' }]])
      }),
    )

    it(
      'leave no changes, whichever step fails',
      within(databaseKind, async ({ client, store, annId }) => {
        const steps: Step[] = [
          client.creation('posts', { title: 'a', author_id: annId }),
          record('r'),
          client.change('merge', 'posts', 1, { title: 'changed' }),
          client.deletion('posts', 1),
        ]
        await client.create('posts', { title: 'first', author_id: annId })
        const bad = client.creation('users', { name: 'x', email: 'ann@example.com' })
        const last = await store.changes.last()
        for (let at = 0; at <= steps.length; at++) {
          let reached = -1
          const failing = client.transaction(function* (): Program<void> {
            for (const [index, step] of steps.toSpliced(at, 0, bad).entries()) {
              reached = index
              yield step
            }
          })
          await assert.rejects(failing, failure('CONFLICT', 'email', 'taken'))
          assert.equal(reached, at)
          assert.deepEqual(await titles(client), ['first'])
          assert.equal(await store.records.get('Test', 'r'), undefined)
          assert.equal(await store.changes.last(), last)
        }
        assert.equal((await posts(client)).total, 1)
      }),
    )

    it(
      'are undone if the program throws or catches the error of a step',
      within(databaseKind, async ({ client, annId }) => {
        const create = client.creation('posts', { title: 'a', author_id: annId })
        const throwing = client.transaction(function* (): Program<void> {
          yield create
          throw new RangeError('enough')
        })
        await assert.rejects(throwing)
        const catching = client.transaction(function* (): Program<string> {
          yield create
          try {
            yield client.change('merge', 'posts', 999, { title: 'x' })
          } catch {
            yield create
          }
          return 'done'
        })
        await assert.rejects(catching, failure('NOT_FOUND'))
        assert.deepEqual(await titles(client), [])
      }),
    )

    it(
      'log events in the order of their steps',
      within(databaseKind, async ({ client, store, annId }) => {
        const last = await store.changes.last()
        await client.transaction(function* (): Program<void> {
          yield client.creation('posts', { title: 'a', author_id: annId })
          yield client.change('merge', 'users', annId, { name: 'Anne' })
          yield client.change('merge', 'posts', 1, { title: 'b' })
          yield client.deletion('posts', 1)
        })
        const events = await store.changes.after(last, 10)
        assert.deepEqual(
          events.map(({ collection, kind }) => `${collection} ${kind}`),
          ['posts created', 'users updated', 'posts updated', 'posts deleted'],
        )
      }),
    )

    it(
      'change records together with items, and report whether each changed',
      within(databaseKind, async ({ client, store, annId }) => {
        const key = { kind: 'Test', id: 'r' }
        const answers = await client.transaction(function* (): Program<StepAnswer[]> {
          return [
            yield record('r'),
            yield record('r'),
            yield { kind: 'swap', key, before: '{}', after: '{"a":1}' },
            yield { kind: 'swap', key, before: '{}', after: '{"b":1}' },
            yield client.creation('posts', { title: 'a', author_id: annId }),
          ]
        })
        assert.deepEqual(answers.slice(0, 4), [true, false, true, false])
        assert.equal((await store.records.get('Test', 'r'))?.payload, '{"a":1}')
        const version = store.records.version('Test')
        const gone = await client.transaction(function* (): Program<StepAnswer[]> {
          return [yield { kind: 'delete', key }, yield { kind: 'delete', key }]
        })
        assert.deepEqual(gone, [true, false])
        assert.equal(await store.records.get('Test', 'r'), undefined)
        await store.refresh()
        assert.notEqual(store.records.version('Test'), version)
      }),
    )

    it(
      'apply the access rules in reads and writes',
      within(databaseKind, async ({ client, annId, benId }) => {
        const ann = user(annId, 'user', 'all')
        const seen = await client.transaction(function* (): Program<string | null> {
          yield client.creation('posts', { title: 'mine' })
          const list = yield {
            shape: { ...listOfPosts, select: fields('title', 'author_id') },
            args: [0, 100],
          }
          return (list as ListAnswer).text
        }, ann)
        assert.equal(seen, `[{"title":"mine","author_id":${annId}}]`)
        const foreign = await client.create('posts', { title: 'foreign', author_id: benId })
        for (const step of [
          client.change('merge', 'posts', foreign.id, { title: 'stolen' }),
          client.deletion('posts', foreign.id),
          client.creation('posts', { title: 'x', author_id: benId }),
        ]) {
          const failing = client.transaction(function* (): Program<void> {
            yield client.creation('posts', { title: 'undone' })
            yield step
          }, ann)
          await assert.rejects(failing, failure('FORBIDDEN'))
        }
        assert.deepEqual(await titles(client), ['mine', 'foreign'])
      }),
    )

    it(
      'run independent writes together, and report which one failed',
      within(databaseKind, async ({ client, store, annId }) => {
        const last = await store.changes.last()
        const titled = Array.from({ length: 230 }, (_, index) => `${index}`)
        const creations = titled.map(title => client.creation('posts', { title, author_id: annId }))
        let failed = -1
        const all = (plans: readonly Plan<WriteShape>[]) =>
          client.transaction(function* (): Program<readonly WriteAnswer[]> {
            yield client.change('merge', 'users', annId, { name: 'Anne' })
            const answers = yield {
              kind: 'independentWrites',
              writes: plans,
              onFailure: index => (failed = index),
            }
            yield client.change('merge', 'users', annId, { name: 'Ann' })
            return answers as readonly WriteAnswer[]
          })
        const answers = await all(creations)
        assert.deepEqual(
          answers.map(({ text }) => (parsed(text) as { title: string }).title),
          titled,
        )
        const events = await store.changes.after(last, 1000)
        assert.deepEqual(
          events.map(({ row }) => JSON.parse(row).title ?? 'user'),
          ['user', ...titled, 'user'],
        )
        assert.equal((await posts(client)).total, 230)
        const bad = client.creation('users', { name: 'x', email: 'ann@example.com' })
        await assert.rejects(all(creations.with(117, bad)), failure('CONFLICT', 'email', 'taken'))
        assert.equal(failed, 117)
        await assert.rejects(
          all([client.change('merge', 'posts', 999, { title: 'x' })]),
          failure('NOT_FOUND'),
        )
        assert.equal(failed, 0)
        assert.equal((await posts(client)).total, 230)
      }),
    )

    it(
      'do not affect single writes: one that fails among searchable ones fails alone',
      within(databaseKind, async ({ client, annId }) => {
        const creates = Array.from({ length: 20 }, (_, index) =>
          index % 7 === 3
            ? client.create('users', { name: 'x', email: 'ann@example.com' })
            : client.create('posts', { title: `${index}`, author_id: annId }),
        )
        const results = await Promise.allSettled(creates)
        const failures = results.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []))
        assert.deepEqual(failures, ['CONFLICT', 'CONFLICT', 'CONFLICT'])
        assert.equal((await posts(client)).total, 17)
      }),
    )

    it('refuse a list that would visit more rows than maxScan', () =>
      databaseKind.within(async database => {
        const store = await database.open(blog, { queries: { maxScan: 20 } })
        try {
          const client = new Client(store)
          await client.create('users', { name: 'Ann', email: 'ann@example.com' })
          for (let index = 0; index < 40; index++)
            await client.create('posts', { title: `${index}`, author_id: 1 })
          const filter = { kind: 'compare', field: 'body', operator: 'eq', param: 2 } as const
          const list = { shape: { ...listOfPosts, filter }, args: [0, 100, 'x'] }
          const reading = client.transaction(
            function* (): Program<void> {
              yield client.change('merge', 'posts', 1, { title: 'changed' })
              yield list
            },
            user(1, 'admin', 'all'),
          )
          await assert.rejects(reading, failure('SCAN_TOO_LARGE'))
          assert.equal(((await client.item('posts', 1)) as { title: string }).title, '0')
        } finally {
          await store.close()
        }
      }))

    it(
      'keep totals correct with concurrent single writes and failures',
      within(databaseKind, async ({ client, annId }) => {
        const creation = (title: string) => client.creation('posts', { title, author_id: annId })
        const all = Array.from({ length: 12 }, (_, index) => {
          if (index % 3 === 0) return client.create('posts', { title: `single ${index}`, author_id: annId })
          return client.transaction(function* (): Program<void> {
            yield creation(`first ${index}`)
            yield creation(`second ${index}`)
            if (index % 3 === 2) yield client.deletion('posts', 999)
          })
        })
        const results = await Promise.allSettled(all)
        assert.equal(results.filter(({ status }) => status === 'rejected').length, 4)
        const { total, items } = await posts(client)
        assert.deepEqual([total, items?.length], [12, 12])
      }),
    )
  })
}

it('a transaction on SQLite whose reads block the event loop for too long fails', () =>
  sqlite.within(async database => {
    const store = await database.open(blog)
    try {
      const client = new Client(store)
      await client.create('users', { name: 'Ann', email: 'ann@example.com' })
      await database.run(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO "posts" ("title", "author_id", "created_at") SELECT 'Post ' || i, 1, '2026-01-01T00:00:00.000Z' FROM n`,
      )
      const filter = { kind: 'compare', field: 'title', operator: 'contains', param: 2 } as const
      const reading = client.transaction(
        function* (): Program<void> {
          yield client.change('merge', 'posts', 1, { title: 'changed' })
          for (let index = 0; index < 100; index++)
            yield { shape: { ...listOfPosts, filter }, args: [0, 10, `none ${index}`] }
        },
        user(1, 'admin', 'all'),
      )
      await assert.rejects(reading, failure('BAD_REQUEST'))
      assert.equal(((await client.item('posts', 1)) as { title: string }).title, 'Post 1')
    } finally {
      await store.close()
    }
  }))

describe('serial transactions on PostgreSQL', () => {
  /** Runs `use` while another connection writes to posts. */
  async function whilePostsAreWritten(
    database: TestDatabase,
    seconds: number,
    use: () => Promise<void>,
  ): Promise<void> {
    const writing = database.run(
      `BEGIN; LOCK TABLE "posts" IN ROW EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`,
    )
    const held = `SELECT 1 FROM pg_locks WHERE "relation" = 'posts'::regclass AND "mode" = 'RowExclusiveLock'`
    while ((await database.rows(held)).length === 0) await new Promise(resolve => setImmediate(resolve))
    await use()
    await writing
  }

  testOfOthers('wait for open writes of their collections, and do not delay writes of others', () =>
    postgres.within(async database => {
      const store = await database.open(blog)
      try {
        const client = new Client(store)
        const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
        const order: string[] = []
        await whilePostsAreWritten(database, 1, async () => {
          const batches = [1, 2, 3].map(async () => {
            await client.transaction(
              function* (): Program<void> {
                yield client.creation('posts', { title: 'a', author_id: ann.id })
              },
              undefined,
              { writes: ['posts'] },
            )
            order.push('batch')
          })
          await client.create('users', { name: 'Ben', email: 'ben@example.com' })
          order.push('user')
          await Promise.all(batches)
        })
        assert.deepEqual(order, ['user', 'batch', 'batch', 'batch'])
        assert.equal((await posts(client)).total, 3)
      } finally {
        await store.close()
      }
    }),
  )

  testOfOthers('fail once they have waited for a lock as long as a write may', () =>
    postgres.within(async database => {
      await database.create()
      const store = await openPostgres(blog, { url: database.url, timeoutMs: 600 })
      try {
        const client = new Client(store)
        const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
        await whilePostsAreWritten(database, 3, async () => {
          const waiting = client.transaction(
            function* (): Program<void> {
              yield client.creation('posts', { title: 'a', author_id: ann.id })
            },
            undefined,
            { writes: ['posts'] },
          )
          await assert.rejects(waiting, failure('UNAVAILABLE'))
        })
        assert.equal((await posts(client)).total, 0)
      } finally {
        await store.close()
      }
    }),
  )

  testOfOthers('that only read take no locks and use one snapshot', () =>
    postgres.within(async database => {
      const store = await database.open(blog)
      try {
        const client = new Client(store)
        const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
        await whilePostsAreWritten(database, 1, async () => {
          const read = { shape: listOfPosts, args: [0, 100] }
          const seen = await createRun(createGuard(blog), store).transaction({
            principal: user(ann.id, 'user', 'all'),
            serial: undefined,
            snapshot: true,
            *steps(): Program<unknown> {
              const first = (yield read) as ListAnswer
              return [first.total, ((yield read) as ListAnswer).total]
            },
          })
          assert.deepEqual(seen, [0, 0])
        })
      } finally {
        await store.close()
      }
    }),
  )
})
