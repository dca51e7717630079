/** The deletion of accounts in slices: it survives the end of its process at any slice, and one node at a time does it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { deletionRecord } from '../../../src/base/records.ts'
import { systemClock } from '../../../src/delivery/consumer/timetable.ts'
import { AccountDeletions, deleteInSlices } from '../../../src/delivery/deletions/accounts.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { exportedData, PersonalRows } from '../../../src/identity/accounts/self-service/data-export.ts'
import { blockingRelations, deleteAccount } from '../../../src/identity/accounts/self-service/deletion.ts'
import { createBySystem } from '../../../src/identity/bootstrap.ts'
import { sessionPrincipal } from '../../../src/identity/session-principal.ts'
import { collection, model as declareModel, owner, relation, signedIn, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { databaseKinds, type TestDatabase } from '../../engine/store/databases.ts'
import shop from '../../models/shop.ts'

const model = checkModel(shop)
const cascades = { maxItems: 20 }
const orders = 7
const linesPerOrder = 25

class Killed extends Error {}

interface Shop {
  readonly database: TestDatabase
  readonly store: Store
  readonly run: Run
  /** With orders and reviews. */
  readonly person: number
  readonly other: number
  readonly count: (table: string) => Promise<number>
}

/** Items whose reference to the account may not be cleared, replies, and items at the end of many relations. */
const rules = checkModel(
  declareModel({
    tasks: collection({
      fields: {
        state: string(),
        assignee_id: relation('users', { personal: true, optional: true, onDelete: 'clear' }),
        within_id: relation('notes', { optional: true, onDelete: 'cascade' }),
      },
      access: { read: signedIn },
      check: ({ next }) =>
        next?.state === 'open' && next.assignee_id === null
          ? [{ field: 'assignee_id', message: 'An open task has an assignee.' }]
          : [],
    }),
    notes: collection({
      fields: {
        text: string(),
        by_id: relation('users', { personal: true }),
        reply_to_id: relation('notes', { optional: true, onDelete: 'cascade' }),
      },
      access: { read: owner('by_id') },
    }),
  }),
)

interface Ruled {
  readonly database: TestDatabase
  readonly store: Store
  readonly run: Run
  readonly ann: number
  readonly ben: number
  readonly add: (collection: string, values: object) => Promise<number>
  readonly count: (from: string) => Promise<number>
}

async function withRules(
  within: (typeof databaseKinds)[number]['within'],
  use: (parts: Ruled) => Promise<void>,
): Promise<void> {
  await within(async database => {
    const store = await database.open(rules, { cascades })
    try {
      const run = createRun(createGuard(rules), store)
      const add: Ruled['add'] = async (of, values) => createBySystem(run, of, values as never, {})
      await add('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
      const ann = await add('users', { name: 'Ann', email: 'ann@example.com', role: 'user' })
      const ben = await add('users', { name: 'Ben', email: 'ben@example.com', role: 'user' })
      for (const by_id of [...Array(40).fill(ann), ...Array(40).fill(ben)])
        await add('notes', { text: 'x', by_id })
      const count = async (from: string) =>
        Number(Object.values((await database.rows(`SELECT count(*) FROM ${from}`))[0] ?? {})[0])
      await use({ database, store, run, ann, ben, add, count })
    } finally {
      await store.close()
    }
  })
}

const openRun = (store: Store) => createRun(createGuard(model), store)

async function withShop(
  within: (typeof databaseKinds)[number]['within'],
  use: (parts: Shop) => Promise<void>,
): Promise<void> {
  await within(async database => {
    const store = await database.open(model, { cascades })
    try {
      const run = openRun(store)
      const add = (collection: string, values: object) => createBySystem(run, collection, values as never, {})
      await add('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
      const person = await add('users', { name: 'Ann', email: 'ann@example.com', role: 'user' })
      const other = await add('users', { name: 'Ben', email: 'ben@example.com', role: 'user' })
      for (const buyer_id of [...Array(orders).fill(person), other]) {
        const order_id = await add('orders', { number: 'x', buyer_id })
        // Its order cannot be deleted before it.
        await add('receipts', { order_id, buyer_id })
        for (let line = 0; line < linesPerOrder; line++)
          await add('lines', { sku: `${line}`, hidden: 0, order_id })
      }
      for (let review = 0; review < 30; review++) await add('reviews', { text: 'x', author_id: person })
      const count = async (table: string) =>
        Number(Object.values((await database.rows(`SELECT count(*) FROM ${table}`))[0] ?? {})[0])
      await use({ database, store, run, person, other, count })
    } finally {
      await store.close()
    }
  })
}

const disabled = async ({ database, person }: Shop) =>
  (await database.rows(`SELECT disabled FROM users WHERE id = ${person}`)).map(row =>
    Boolean(Number(row['disabled'])),
  )

const records = ({ store, person }: Pick<Shop, 'store' | 'person'>) =>
  store.records.get(deletionRecord, String(person))

for (const { name, within } of databaseKinds) {
  test(`${name}: a deletion that ends at any slice is continued, the account stays unusable, and nothing of others is deleted`, () =>
    withShop(within, async parts => {
      const { run, store, person, count } = parts
      const by = { ...system, userId: person }
      assert.equal(await deleteAccount({ run, model }, person, by), false)
      assert.deepEqual([await disabled(parts), await count('users')], [[true], 3])
      let kills = 0
      for (let isOver = false; !isOver; ) {
        // Somebody enables it, by a way that no rule of writes sees.
        await run.write({ shape: updateShape('users', ['disabled']), args: [person, false] }, system)
        let slices = 0
        const beforeSlice = async () => {
          // Later each time: what a receipt prevents is reached only after it.
          if (slices++ === 2 + kills) throw new Killed()
        }
        try {
          await deleteInSlices({ model, run }, person, person, beforeSlice)
          isOver = true
        } catch (error) {
          assert.ok(error instanceof Killed, String(error))
          kills++
          assert.deepEqual(await disabled(parts), [true])
          assert.ok(await records({ store, person }))
        }
      }
      assert.ok(kills >= 5, `${kills}`)
      assert.equal(await records({ store, person }), undefined)
      assert.deepEqual(await Promise.all(['users', 'orders', 'receipts', 'lines', 'reviews'].map(count)), [
        2,
        1,
        1,
        linesPerOrder,
        30,
      ])
      const [{ cleared } = {}] = await parts.database.rows(
        'SELECT count(*) AS cleared FROM reviews WHERE author_id IS NULL',
      )
      assert.equal(Number(cleared), 30)
      // Who has deleted it already hears of no error.
      await deleteInSlices({ model, run }, person, person)
    }))

  test(`${name}: two nodes delete what is recorded, and an item that must stay is reported`, () =>
    withShop(within, async parts => {
      const { database, store, run, person, other, count } = parts
      const second = await database.open(model, { cascades })
      const blocked: number[] = []
      const open = (ofStore: Store) =>
        new AccountDeletions({
          ...{
            model,
            run: openRun(ofStore),
            records: ofStore.records,
            log: ofStore.changes,
            clock: systemClock,
          },
          elapsed: () => performance.now(),
          onFault: error => assert.fail(String(error)),
          onBlocked: id => blocked.push(id),
        })
      const nodes = [store, second].map(open)
      try {
        const [order] = await database.rows(`SELECT id FROM orders WHERE buyer_id = ${other}`)
        await createBySystem(run, 'invoices', { order_id: Number(order?.['id']) }, {})
        const owner = String(other)
        await store.records.put({
          ...{
            kind: deletionRecord,
            id: owner,
            owner,
            expiresAt: null,
            payload: JSON.stringify({ by: null }),
          },
        })
        await deleteAccount({ run, model }, person, { ...system, userId: person })
        for (const node of nodes) node.start()
        for (let tries = 0; (await count('users')) > 2 || blocked.length === 0; tries++) {
          assert.ok(tries < 1200)
          await new Promise(resolve => setTimeout(resolve, 100))
        }
        assert.deepEqual([...new Set(blocked)], [other])
        assert.equal(await count('orders'), 1)
      } finally {
        await Promise.all(nodes.map(node => node.close()))
        await second.close()
      }
    }))

  test(`${name}: a deletion is refused whole where a rule refuses to clear a reference, unless that item is deleted too`, () =>
    withRules(within, async ({ database, run, ann, ben, add, count }) => {
      const begin = (id: number) => deleteAccount({ run, model: rules }, id, { ...system, userId: id })
      const task = await add('tasks', { state: 'open', assignee_id: ann })
      await assert.rejects(begin(ann), {
        code: 'CONFLICT',
        message: 'Items of tasks may not lose what they refer to by assignee_id.',
      })
      assert.equal(await count('users WHERE NOT disabled'), 3)
      assert.deepEqual([await count('notes'), await count('tasks WHERE assignee_id IS NOT NULL')], [80, 1])
      await run.write({ shape: updateShape('tasks', ['state']), args: [task, 'done'] }, system)
      assert.equal(await begin(ann), false)
      await deleteInSlices({ run, model: rules }, ann, null)
      assert.deepEqual([await count('users'), await count('notes')], [2, 40])
      // It is deleted with Ben's note.
      const [note] = await database.rows(`SELECT id FROM notes WHERE by_id = ${ben} LIMIT 1`)
      await add('tasks', { state: 'open', assignee_id: ben, within_id: Number(note?.['id']) })
      assert.equal(await begin(ben), false)
      await deleteInSlices({ run, model: rules }, ben, null)
      assert.deepEqual([await count('users'), await count('notes'), await count('tasks')], [1, 0, 1])
    }))

  test(`${name}: an account whose deletion is refused or fails loses nothing, and others are deleted`, () =>
    withRules(within, async ({ store, run, ann, ben, add, count }) => {
      for (const id of [ann, ben])
        assert.equal(await deleteAccount({ run, model: rules }, id, { ...system, userId: id }), false)
      const carl = await add('users', { name: 'Carl', email: 'carl@example.com', role: 'user' })
      for (let note = 0; note < 40; note++) await add('notes', { text: 'x', by_id: carl })
      assert.equal(await deleteAccount({ run, model: rules }, carl, { ...system, userId: carl }), false)
      // After the deletion has begun.
      await add('tasks', { state: 'open', assignee_id: ann })
      const blocked = new Map<number, string>()
      const failing: Run = {
        ...run,
        async write(plan, principal, steps) {
          if (plan.shape.kind === 'delete' && plan.shape.collection === 'users' && plan.args[0] === ben)
            throw new TypeError('a fault of its own')
          return run.write(plan, principal, steps)
        },
      }
      const deletions = new AccountDeletions({
        ...{ model: rules, run: failing, records: store.records, log: store.changes, clock: systemClock },
        elapsed: () => performance.now(),
        onFault: error => assert.fail(String(error)),
        onBlocked: (id, error) => blocked.set(id, String(error)),
      })
      deletions.start()
      try {
        for (let tries = 0; (await count('users')) > 3 || blocked.size < 2; tries++) {
          assert.ok(tries < 1200)
          await new Promise(resolve => setTimeout(resolve, 100))
        }
        assert.deepEqual([...blocked.keys()].toSorted(), [ann, ben].toSorted())
        assert.match(blocked.get(ann) ?? '', /An open task has an assignee/)
        assert.match(blocked.get(ben) ?? '', /a fault of its own/)
        assert.equal(await count(`notes WHERE by_id = ${ann}`), 40)
        assert.equal(await count(`notes WHERE by_id = ${carl}`), 0)
      } finally {
        await deletions.close()
      }
    }))

  test(`${name}: accounts take turns: a large one does not delay a small one until its end`, () =>
    withRules(within, async ({ database, store, run, ann, ben, count }) => {
      await database.run(
        `INSERT INTO notes (text, by_id, created_at) SELECT 'x', ${ann}, (SELECT created_at FROM notes LIMIT 1)
         FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) SELECT i FROM n) AS numbers`,
      )
      for (const id of [ann, ben])
        assert.equal(await deleteAccount({ run, model: rules }, id, { ...system, userId: id }), false)
      const deleted: unknown[] = []
      const recording: Run = {
        ...run,
        async write(plan, principal, steps) {
          const answer = await run.write(plan, principal, steps)
          if (plan.shape.kind === 'delete' && plan.shape.collection === 'users') deleted.push(plan.args[0])
          return answer
        },
      }
      const deletions = new AccountDeletions({
        ...{ model: rules, run: recording, records: store.records, log: store.changes, clock: systemClock },
        elapsed: () => performance.now(),
        onFault: error => assert.fail(String(error)),
        onBlocked: (_id, error) => assert.fail(String(error)),
      })
      deletions.start()
      try {
        for (let tries = 0; (await count('users')) > 1; tries++) {
          assert.ok(tries < 1200)
          await new Promise(resolve => setTimeout(resolve, 100))
        }
        assert.deepEqual(deleted, [ben, ann])
      } finally {
        await deletions.close()
      }
    }))

  test(`${name}: a chain of 3,000 replies is deleted from its end, with few items in each commit and few attempts`, () =>
    withRules(within, async ({ database, run, ann, count }) => {
      const length = 3000
      const [{ first } = {}] = await database.rows('SELECT max(id) + 1 AS first FROM notes')
      await database.run(
        `INSERT INTO notes (id, text, by_id, reply_to_id, created_at)
         SELECT ${Number(first)} + i, 'x', ${ann}, CASE WHEN i > 0 THEN ${Number(first)} + i - 1 END, (SELECT created_at FROM notes LIMIT 1)
         FROM (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${length - 1}) SELECT i FROM n) AS numbers`,
      )
      let writes = 0
      const counting: Run = {
        ...run,
        write(plan, principal, steps) {
          writes++
          return run.write(plan, principal, steps)
        },
      }
      await deleteInSlices({ model: rules, run: counting }, ann, null)
      assert.deepEqual([await count('users'), await count('notes')], [2, 40])
      assert.ok(writes < 3 * length, `${writes}`)
    }))

  test(`${name}: what prevents a deletion is found in a model with many paths, with few reads`, () =>
    within(async database => {
      const length = 18
      const collections = Object.fromEntries(
        Array.from({ length }, (_, index) => {
          const earlier = Array.from({ length: index }, (_unused, other) => [
            `c${other}_id`,
            relation(`c${other}`, { onDelete: 'cascade', optional: true }),
          ])
          const fields = {
            user_id: relation('users', { onDelete: 'cascade', optional: true }),
            ...Object.fromEntries(earlier),
          }
          return [`c${index}`, collection({ singular: `c${index}_item`, fields })]
        }),
      )
      const last = `c${length - 1}`
      const invoices = collection({ fields: { of_id: relation(last) } })
      const many = checkModel(declareModel({ ...collections, invoices }))
      const store = await database.open(many, { cascades })
      try {
        let reads = 0
        const run = createRun(createGuard(many), store)
        const counting: Run = {
          ...run,
          list(plan, principal) {
            reads++
            return run.list(plan, principal)
          },
        }
        const id = await createBySystem(run, 'users', { name: 'A', email: 'a@example.com', role: 'user' }, {})
        let previous = await createBySystem(run, 'c0', { user_id: id }, {})
        for (let index = 1; index < length; index++)
          previous = await createBySystem(run, `c${index}`, { [`c${index - 1}_id`]: previous }, {})
        const context = { run: counting, model: many }
        assert.deepEqual(await blockingRelations(context, id), [])
        await createBySystem(run, 'invoices', { of_id: previous }, {})
        const [blocking, ...others] = await blockingRelations(context, id)
        assert.deepEqual([blocking?.collection, blocking?.field, others], ['invoices', 'of_id', []])
        assert.ok(reads < 2 * length * length, `${reads}`)
      } finally {
        await store.close()
      }
    }))

  test(`${name}: a copy of 100,000 items reads and holds a page at a time`, () =>
    withShop(within, async ({ database, run, person }) => {
      const total = 100_000
      const [order] = await database.rows(`SELECT id FROM orders WHERE buyer_id = ${person} LIMIT 1`)
      await database.run(
        `INSERT INTO lines (sku, hidden, order_id, created_at)
         SELECT 'x', 0, ${Number(order?.['id'])}, (SELECT created_at FROM orders LIMIT 1)
         FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${total}) SELECT i FROM n) AS numbers`,
      )
      const read: number[] = []
      const counting: Run = {
        ...run,
        async list(plan, principal) {
          const answer = await run.list(plan, principal)
          read.push(JSON.parse(answer.text ?? '[]').length)
          return answer
        },
      }
      const reader = async () => sessionPrincipal({ id: person, role: 'user' })
      let items = 0
      let largest = 0
      for await (const chunk of exportedData({ model, run: counting, userId: person, reader, details: {} })) {
        items += chunk.split('"sku"').length - 1
        largest = Math.max(largest, chunk.length)
      }
      assert.equal(items, total + orders * linesPerOrder)
      assert.ok(Math.max(...read) <= 1000)
      assert.ok(largest < 100 * 200, `${largest}`)
      // By rows: the size that is asked for bounds a page.
      const rows = new PersonalRows({ model, run: counting, userId: person }, reader)
      read.length = 0
      for (let page = 0; page < 20; page++) {
        const next = await rows.next(system, 30)
        assert.ok(next.rows.length <= 30)
        next.advance()
      }
      assert.ok(read.length <= 40)
    }))
}
