/** Row security is a second line of defence: it enforces the rules on unguarded plans and on SQL. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { ApiError } from '../../../../../src/base/errors.ts'
import { anonymous, app, type Principal, system, user } from '../../../../../src/base/principal.ts'
import type { ListAnswer } from '../../../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../../../src/engine/plan/order.ts'
import type { ListShape, Plan, WriteShape } from '../../../../../src/engine/plan/plan.ts'
import { deleteShape, updateShape } from '../../../../../src/engine/plan/system-plans.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import {
  createSecurity,
  enforcedSecurity,
  noActor,
  settings,
} from '../../../../../src/engine/store/postgres/row-security/security.ts'
import type { Store } from '../../../../../src/engine/store/store.ts'
import { serviceActor } from '../../../../../src/engine/store/values.ts'
import {
  anyone as anyoneAtAll,
  boolean,
  collection,
  model as declare,
  field,
  owner,
  related,
  relation,
  string,
} from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../../src/model/fields/type.ts'
import type { Collection, Model } from '../../../../../src/model/model.ts'
import type { Rule } from '../../../../../src/model/rule/rule.ts'
import { cases } from '../../../../cases.ts'
import declaredBlog from '../../../../models/blog.ts'
import declaredRich from '../../../../models/rich.ts'
import {
  type OrdinaryDatabase,
  rowSecurityDatabase,
  withOrdinaryDatabase,
} from '../../../../setups/databases/ordinary.ts'
import { dropUser, newUser, urlFor } from '../../../../setups/databases/owner.ts'
import { query } from '../../../../setups/databases/postgres.ts'
import { type Data, type OpenSeededStore, seededStores } from '../../../../setups/databases/seeded-store.ts'
import { choices, datas, principals, writePlans } from '../../../plan/random.ts'
import { canRead, requestTimeMs, writeReference } from '../../../plan/reference.ts'
import { smallModel } from '../../../plan/small-model.ts'
import { Client, fields, type Values } from '../../blog.ts'

const blog = checkModel(declaredBlog)
const rich = checkModel(declaredRich)
const anyone: Rule = { kind: 'anyone' }
const everything = { read: anyone, create: anyone, update: anyone, delete: anyone }

/** A guard without rules: its plans carry the brand, but no conditions. */
function forgetfulGuard(model: Model) {
  const open = (collection: Collection): Collection => ({
    ...collection,
    access: everything,
    fields: new Map(
      [...collection.fields].map(([name, field]) => [
        name,
        { ...field, access: { read: anyone, write: anyone } },
      ]),
    ),
  })
  const collections = new Map([...model.collections].map(([name, collection]) => [name, open(collection)]))
  const guard = createGuard({ ...model, collections })
  // It ignores scopes too, but the database still receives the caller.
  return (plan: Plan, { userId, access, claims, app }: Principal) => {
    const guarded = guard(plan as never, user(userId ?? 0, 'admin', 'all')) as object
    return { ...guarded, principal: { userId, access, claims, app } } as never
  }
}

function idsOf(name: string): ListShape {
  return {
    kind: 'list',
    collection: name,
    within: undefined,
    filter: undefined,
    search: undefined,
    sort: orderById,
    window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
    select: fields('id'),
  }
}

async function unguarded(store: Store, model: Model, name: string, who: Principal) {
  const plan = { shape: idsOf(name), args: [0, 100] }
  const { text, total } = (await store.read(forgetfulGuard(model)(plan, who))) as ListAnswer
  const ids = (JSON.parse(text ?? '[]') as { id: number }[]).map(({ id }) => id)
  return { ids, total }
}

/** The rows that the reference lets a caller read. */
function readable(model: Model, data: Data, who: Principal, collection: Collection): JsonValue[] {
  const rows = data[collection.name] ?? []
  return rows.filter(row => canRead(model, data, who, collection, row)).map(row => row.id ?? null)
}

const seededStore = seededStores.find(({ name }) => name === 'PostgreSQL with row security')
assert.ok(seededStore)
const { within } = seededStore

/** Executes a statement on behalf of an actor, and rolls it back. */
async function queryAs(client: pg.Client, actor: readonly string[], text: string) {
  await client.query('BEGIN')
  const set = settings.map((name, index) => `set_config('${name}', $${index + 1}, true)`)
  await client.query(`SELECT ${set.join(', ')}`, [...actor])
  const result = await client.query({ text, rowMode: 'array' })
  await client.query('ROLLBACK')
  return result
}

async function rowsAs(client: pg.Client, actor: readonly string[], text: string): Promise<JsonValue[]> {
  const { rows } = await queryAs(client, actor, text)
  return rows.map(([id]) => Number(id))
}

/** Runs `use` as a role that is not the owner of the tables but has all privileges on them. */
async function asOtherRole(admin: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const other = await newUser()
  await query(
    admin,
    `GRANT USAGE ON SCHEMA public TO "${other.name}"; GRANT ALL ON ALL TABLES IN SCHEMA public TO "${other.name}"`,
  )
  const client = new pg.Client({ connectionString: urlFor(admin, other) })
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
    await query(admin, `DROP OWNED BY "${other.name}"`)
    await dropUser(other)
  }
}

const atMoment = createSecurity(() => requestTimeMs)

async function checkOtherRole(model: Model, data: Data, admin: string, callers: readonly Principal[]) {
  await asOtherRole(admin, async client => {
    for (const collection of model.collections.values()) {
      const text = `SELECT id FROM "${collection.name}" ORDER BY id`
      const all = (data[collection.name] ?? []).map(row => row.id)
      for (const who of callers) {
        const actor = atMoment.actor(who) ?? noActor
        assert.deepEqual(await rowsAs(client, actor, text), readable(model, data, who, collection))
      }
      assert.deepEqual(await rowsAs(client, noActor, text), [])
      assert.deepEqual((await client.query(text)).rows, [])
      assert.deepEqual(await rowsAs(client, serviceActor, text), all)
    }
  })
}

const several = fc.array(principals, { minLength: 6, maxLength: 6 })

test('SQL on behalf of a caller sees exactly the rows that random rules let the caller read', async () => {
  const property = fc.asyncProperty(choices, datas, several, async ({ access = {} }, data, callers) => {
    const model = smallModel({ access })
    await within(
      model,
      data,
      ({ admin }) => checkOtherRole(model, data, admin, callers),
      () => requestTimeMs,
    )
  })
  await fc.assert(property, { ...cases(5, 5), endOnFailure: true })
})

test('an unguarded plan reads and counts only the rows that random rules let its caller read', async () => {
  const property = fc.asyncProperty(choices, datas, several, async ({ access = {} }, data, callers) => {
    const model = smallModel({ access })
    await within(
      model,
      data,
      async ({ store }) => {
        for (const who of callers) {
          for (const collection of model.collections.values()) {
            const expected = readable(model, data, who, collection)
            const { ids, total } = await unguarded(store, model, collection.name, who)
            assert.deepEqual(ids, expected)
            assert.ok(total === 0 || total === expected.length, `${total} of ${expected.length}`)
          }
        }
      },
      () => requestTimeMs,
    )
  })
  await fc.assert(property, { ...cases(5, 5), endOnFailure: true })
})

test('a rule on related rows works even if a collection is named like an alias', async () => {
  const access = { create: anyoneAtAll, update: anyoneAtAll, delete: anyoneAtAll }
  const model = checkModel(
    declare({
      r1: collection({
        singular: 'r1_item',
        fields: { open: boolean(), parent_id: relation('r1', { inverse: 'children', optional: true }) },
        access: { ...access, read: related('parent', field('open').eq(true)) },
      }),
    }),
  )
  const rows = [
    { id: 1, open: true, parent_id: null },
    { id: 2, open: false, parent_id: 1 },
    { id: 3, open: false, parent_id: 2 },
  ]
  await within(model, { r1: rows }, async ({ store }) => {
    assert.deepEqual((await unguarded(store, model, 'r1', anonymous('127.0.0.1'))).ids, [2])
  })
})

/** Only the guard, not row security, prevents a create from referencing a hidden row of its own collection. */
function refersToOwn({ shape }: { readonly shape: WriteShape }): boolean {
  return (
    shape.kind === 'create' &&
    shape.collection === 'users' &&
    shape.set.some(assignment => assignment.field === 'boss_id')
  )
}

async function checkUnguardedWrite(
  model: Model,
  { store, dump, lastId }: OpenSeededStore,
  who: Principal,
  plan: { readonly shape: WriteShape; readonly args: readonly JsonValue[] },
): Promise<'done' | 'refused' | 'neither'> {
  const before = await dump()
  if (who.userId !== null && !before.users?.some(row => row.id === who.userId)) return 'neither'
  try {
    await store.write(forgetfulGuard(model)(plan, who))
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code !== 'INTERNAL_ERROR', String(error))
    assert.deepEqual(await dump(), before)
    return 'refused'
  }
  const changed = JSON.stringify(before) !== JSON.stringify(await dump())
  // A refused create consumes an id and is retried with the next one, which a rule on ids may allow.
  const expected = writeReference(model, before, who, plan, await lastId(plan.shape.collection))
  if (changed) assert.ok(!('errors' in expected), JSON.stringify(plan))
  return changed ? 'done' : 'neither'
}

test('an unguarded plan changes only what random rules let its caller change', async () => {
  let [done, refused] = [0, 0]
  const plans = writePlans.filter(plan => {
    const { shape } = plan
    const names = shape.kind === 'delete' ? [] : shape.set.map(assignment => assignment.field)
    const isKnown = !names.some(name => ['id', 'nothing', 'password_hash'].includes(name))
    return isKnown && !refersToOwn(plan) && (shape.kind === 'create' || shape.ifMatch === undefined)
  })
  const requests = fc.array(fc.tuple(principals, plans), { minLength: 30, maxLength: 30 })
  const property = fc.asyncProperty(choices, datas, requests, async ({ access = {} }, data, all) => {
    const model = smallModel({ access })
    await within(
      model,
      data,
      async opened => {
        for (const [who, plan] of all) {
          const outcome = await checkUnguardedWrite(model, opened, who, plan)
          if (outcome === 'done') done++
          if (outcome === 'refused') refused++
        }
      },
      () => requestTimeMs,
    )
  })
  await fc.assert(property, { ...cases(4, 4), endOnFailure: true })
  assert.ok(done > 5 && refused > 5, `${done} done, ${refused} refused`)
})

// --- the reference model and the rich one

async function seeded(
  model: Model,
  rows: readonly (readonly [collection: string, values: Values])[],
  use: (store: Store, database: OrdinaryDatabase, data: Data) => Promise<void>,
): Promise<void> {
  const database = await rowSecurityDatabase(model)
  const store = await openPostgres(model, { url: database.url, connections: 4, rowSecurity: true })
  try {
    const client = new Client(store, model)
    for (const [collection, values] of rows) await client.create(collection, values, system)
    const data: Record<string, Data[string]> = {}
    for (const name of model.collections.keys()) {
      const rows = await query(database.admin, `SELECT * FROM "${name}" ORDER BY id`)
      data[name] = rows as Data[string]
    }
    await use(store, database, data)
  } finally {
    await store.close()
    await database.drop()
  }
}

const people = ['ada', 'ben', 'cem'].map(name => {
  const values: Values = { name, email: `${name}@example.com`, role: name === 'cem' ? 'admin' : 'user' }
  return ['users', values] as const
})

const callers = [
  anonymous('192.0.2.1'),
  user(1, 'user', 'all'),
  user(2, 'user', 'all'),
  user(3, 'admin', 'all'),
  user(3, 'admin', new Set(['write:api_key']), undefined, undefined, {
    app: { id: 7, name: 'Seven' },
    grant: null,
    thirdParty: true,
  }),
  user(1, 'user', new Set(['read:post', 'read:task', 'write:contact'])),
  app('client', new Set(['read:post', 'read:label'])),
]

const blogRows = [
  ...people,
  ['api_keys', { user_id: 1, name: 'Ada’s', prefix: 'pk_', hash: 'h' }] as const,
  ['posts', { title: 'One', author_id: 1 }] as const,
  ['posts', { title: 'Two', author_id: 2 }] as const,
]

const project = (slug: string, owner_id: number, visibility: string) =>
  ['projects', { name: slug, slug, owner_id, visibility }] as const
const contact = (name: string, owner_id: number, blocked: boolean) => {
  const email = `${name}@example.org`
  return ['contacts', { owner_id, email, passphrase: 'kept to myself', blocked }] as const
}
const richRows = [
  ...people,
  project('open-one', 1, 'open'),
  project('closed-one', 1, 'members'),
  project('closed-two', 2, 'members'),
  ['memberships', { project_id: 2, user_id: 2 }] as const,
  ['tasks', { title: 'For members', project_id: 2 }] as const,
  ['tasks', { title: 'For ben', project_id: 3 }] as const,
  ['labels', { name: 'red' }] as const,
  ['task_labels', { task_id: 1, label_id: 1 }] as const,
  contact('mine', 1, false),
  contact('blocked', 1, true),
  contact('other', 2, false),
  ['notices', { title: 'Soon' }] as const,
  ['notices', { title: 'Now', published_at: '2026-01-01T00:00:00.000Z' }] as const,
  ['audits', { subject: 'all' }] as const,
]

for (const [name, model, rows] of [
  ['blog', blog, blogRows],
  ['rich', rich, richRows],
] as const) {
  test(`the ${name} model: SQL and unguarded plans see the rows that the reference lets their caller read`, async () => {
    await seeded(model, rows, async (store, { admin }, data) => {
      await checkOtherRole(model, data, admin, callers)
      for (const who of callers) {
        for (const collection of model.collections.values()) {
          const { ids } = await unguarded(store, model, collection.name, who)
          assert.deepEqual(ids, readable(model, data, who, collection), `${collection.name} ${who.budgetKey}`)
        }
      }
    })
  })
}

test('unguarded creates, updates and deletes are refused, and an empty update does not reveal a hidden row', async () => {
  await seeded(blog, blogRows, async (store, { admin }) => {
    const guard = forgetfulGuard(blog)
    const who = user(1, 'user', 'all')
    const set = [{ field: 'title', param: 1 }]
    const update = {
      kind: 'update',
      mode: 'merge',
      collection: 'posts',
      id: 0,
      ifMatch: undefined,
      select: fields('id'),
    } as const
    const plans = [
      { shape: { ...update, set }, args: [2, 'Taken'] },
      { shape: { kind: 'delete', collection: 'posts', id: 0, ifMatch: undefined }, args: [2] },
      {
        shape: {
          kind: 'create',
          collection: 'posts',
          set: [...set, { field: 'author_id', param: 0 }],
          computed: [],
          select: [],
        },
        args: [2, 'By another'],
      },
      { shape: { kind: 'delete', collection: 'users', id: 0, ifMatch: undefined }, args: [2] },
    ] as const
    const stored = 'SELECT id, title, author_id FROM posts ORDER BY id'
    const before = await query(admin, stored)
    for (const plan of plans) {
      await assert.rejects(store.write(guard(plan as never, who)), { code: 'FORBIDDEN' })
      assert.deepEqual(await query(admin, stored), before)
    }
    assert.equal((await query(admin, 'SELECT 1 FROM users')).length, 3)
    // The caller's own post can be updated, so the plans were not refused for another reason.
    await store.write(guard({ shape: { ...update, set }, args: [1, 'Mine'] } as never, who))
    const hidden = { ...update, collection: 'users', set: [] }
    const emptyUpdate = store.write(guard({ shape: hidden, args: [2] } as never, anonymous('192.0.2.1')))
    await assert.rejects(emptyUpdate, { code: 'NOT_FOUND' })
  })
})

test('an update or delete needs a readable row, even if its own rule allows every row', async () => {
  const access = { read: owner('owner_id'), create: anyoneAtAll, update: anyoneAtAll, delete: anyoneAtAll }
  const notes = collection({
    fields: { body: string(), owner_id: relation('users', { inverse: 'notes' }) },
    access,
  })
  const model = checkModel(declare({ notes }))
  const rows = [
    ...people,
    ['notes', { body: 'a', owner_id: 1 }],
    ['notes', { body: 'b', owner_id: 2 }],
  ] as const
  await seeded(model, rows, async (store, { admin }) => {
    const guard = forgetfulGuard(model)
    const ada = user(1, 'user', 'all')
    const stored = 'SELECT id, body FROM notes ORDER BY id'
    const before = await query(admin, stored)
    for (const id of [2, 1]) {
      const update = guard({ shape: updateShape('notes', ['body']), args: [id, 'changed'] } as never, ada)
      if (id === 1) await store.write(update)
      else await assert.rejects(store.write(update), { code: 'NOT_FOUND' })
    }
    const removal = guard({ shape: deleteShape('notes'), args: [2] } as never, ada)
    await assert.rejects(store.write(removal), { code: 'NOT_FOUND' })
    assert.deepEqual(await query(admin, stored), [{ ...before[0], body: 'changed' }, before[1]])
    await asOtherRole(admin, async client => {
      const actor = enforcedSecurity.actor(ada) ?? noActor
      // Without a condition or a result, PostgreSQL applies no policy of SELECT.
      for (const text of [`UPDATE notes SET body = 'all'`, 'DELETE FROM notes']) {
        assert.equal((await queryAs(client, actor, text)).rowCount, 1, text)
      }
    })
  })
})

test('only Portico can read the tables of events, records and search terms', async () => {
  await seeded(rich, richRows, async (store, { admin }) => {
    await store.records.put({ kind: 'Kind', id: 'one', payload: '{}', expiresAt: null })
    assert.equal((await store.records.all('Kind')).length, 1)
    await asOtherRole(admin, async client => {
      for (const table of ['_events', '_records', '_totals', '_search_tasks', '_all_projects']) {
        assert.deepEqual(await rowsAs(client, noActor, `SELECT 1 FROM "${table}"`), [], table)
        assert.ok((await query(admin, `SELECT 1 FROM "${table}"`)).length > 0, table)
      }
      const admins = enforcedSecurity.actor(user(3, 'admin', 'all')) ?? noActor
      for (const table of ['_events', '_records', '_search_tasks']) {
        assert.deepEqual(await rowsAs(client, admins, `SELECT 1 FROM "${table}"`), [], table)
      }
    })
  })
})

test('a role that bypasses row security is refused at the start', async () => {
  await withOrdinaryDatabase(async ({ url, admin }) => {
    await assert.rejects(
      openPostgres(blog, { url: admin, rowSecurity: true }),
      /is a superuser, and no policy applies/,
    )
    const name = new URL(url).username
    await query(admin, `ALTER ROLE "${name}" BYPASSRLS`)
    try {
      await assert.rejects(
        openPostgres(blog, { url, rowSecurity: true }),
        /has BYPASSRLS, and no policy applies/,
      )
    } finally {
      await query(admin, `ALTER ROLE "${name}" NOBYPASSRLS`)
    }
    const store = await openPostgres(blog, { url, rowSecurity: true })
    await store.close()
  })
})
