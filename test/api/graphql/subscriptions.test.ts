/** Subscriptions to updates that the subscriber can read in part, no longer, or not at all; and where they resume. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Engine } from '../../../src/api/graphql/engine.ts'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import type { LoggedChange } from '../../../src/engine/plan/change-feed.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { openSqlite, type SqliteStore } from '../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, field, model, owner, relation, role, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { loggedChange } from '../events/stub.ts'

const declared = checkModel(
  model({
    notes: collection({
      fields: {
        title: text(),
        after: text({ optional: true }),
        state: text(),
        admins: text({ optional: true, access: { read: role('admin') } }),
        author_id: relation('users', { inverse: 'notes' }),
      },
      access: {
        read: field('state').eq('public').or(owner('author_id')).or(role('admin')),
        create: anyone,
        update: anyone,
        delete: anyone,
      },
    }),
  }),
)

let store: SqliteStore
let engine: Engine
before(() => {
  store = openSqlite(declared, { file: ':memory:' })
  engine = createEngine({ model: declared, run: createRun(createGuard(declared), store), hooks: new Map() })
})
after(() => store.close())

const ada = user(1, 'user', 'all')
const bob = user(2, 'user', 'all')
const admin = user(3, 'admin', 'all')

const row = { id: 7, title: 'a', after: null as string | null, state: 'public', admins: 'x', author_id: 1 }
const updated = (patch: Partial<typeof row>, from: Partial<typeof row> = {}): LoggedChange => {
  const previous = { ...row, ...from }
  return loggedChange({
    event: 1042,
    id: 7,
    collection: 'notes',
    kind: 'updated',
    row: JSON.stringify({ ...previous, ...patch }),
    before: JSON.stringify(previous),
    changed: Object.keys(patch),
  })
}

function bind(source: string, variables?: unknown) {
  const prepared = engine.prepare(source, undefined)
  if (prepared.outcome !== 'prepared') assert.fail(prepared.text)
  return engine.bind(prepared, variables)
}

async function reply(source: string, who: Principal, change: LoggedChange): Promise<unknown> {
  const bound = bind(source)
  if (bound.outcome !== 'bound') assert.fail(bound.text)
  const renderer = engine.subscribe(bound, who, error => assert.fail(String(error)))
  if ('outcome' in renderer) assert.fail(renderer.text)
  assert.ok(renderer.topics.some(topic => topic.kind === change.kind && topic.collection === 'notes'))
  const text = await renderer.render(change)
  return text === null ? null : JSON.parse(text)
}

const noteUpdated = 'subscription { noteUpdated { id title } }'
const noteDeleted = 'subscription { noteDeleted { id nodeId __typename } }'
const extensions = { cost: 1, eventId: '1042' }

describe('an update', () => {
  const update = { data: { noteUpdated: { id: '7', title: 'a' } }, extensions }

  test('is delivered only to callers who can read a changed field', async () => {
    assert.deepEqual(await reply(noteUpdated, bob, updated({ after: 'b' })), update)
    assert.deepEqual(await reply(noteUpdated, admin, updated({ admins: 'y' })), update)
    assert.equal(await reply(noteUpdated, bob, updated({ admins: 'y' })), null)
    assert.equal(await reply(noteUpdated, ada, updated({ admins: 'y' })), null)
  })

  test('that brings an item into view is an update', async () => {
    assert.deepEqual(await reply(noteUpdated, bob, updated({ state: 'public' }, { state: 'draft' })), update)
  })

  test('that removes an item from view is a deletion without values', async () => {
    const change = updated({ state: 'draft', title: 'secret' })
    assert.equal(await reply(noteUpdated, bob, change), null)
    assert.deepEqual(await reply(noteDeleted, bob, change), {
      data: { noteDeleted: { id: '7', nodeId: 'Note:7', __typename: 'Note' } },
      extensions,
    })
    const optional = 'subscription { gone: noteDeleted { key: id after } }'
    assert.deepEqual(await reply(optional, bob, change), {
      data: { gone: { key: '7', after: null } },
      extensions,
    })
  })

  test('that removes an item from view is an error if a selected field is non-null', async () => {
    const failed = (await reply(
      'subscription { noteDeleted { id title } }',
      bob,
      updated({ state: 'draft', title: 'secret' }),
    )) as { data: unknown; errors: readonly { path: unknown; extensions: { code: string } }[] }
    assert.equal(failed.data, null)
    assert.deepEqual(
      failed.errors.map(({ path, extensions: { code } }) => [path, code]),
      [[['noteDeleted', 'title'], 'NOT_FOUND']],
    )
    assert.doesNotMatch(JSON.stringify(failed), /secret/)
  })

  test('is not a deletion for callers who never saw the item or still see it', async () => {
    assert.equal(await reply(noteDeleted, bob, updated({ title: 'b' }, { state: 'draft' })), null)
    assert.equal(await reply(noteDeleted, ada, updated({ state: 'draft' })), null)
    assert.equal(await reply(noteDeleted, bob, updated({ title: 'b' })), null)
  })
})

describe('replies to equal changes', () => {
  test('have the id of their own event', async () => {
    const bound = bind('subscription { newNote { id } }')
    if (bound.outcome !== 'bound') assert.fail(bound.text)
    const renderer = engine.subscribe(bound, ada, () => {})
    if ('outcome' in renderer) assert.fail(renderer.text)
    for (const event of [1, 2]) {
      const change = loggedChange({ event, id: 7, collection: 'notes', row: JSON.stringify(row) })
      assert.equal(JSON.parse((await renderer.render(change)) ?? '').extensions.eventId, String(event))
    }
  })
})

describe('the argument `after`', () => {
  const source = 'subscription ($id: ID) { newNote(after: $id) { id after } }'
  const afterOf = (variables?: unknown, document = source) => {
    const bound = bind(document, variables)
    return bound.outcome === 'bound' ? bound.after : bound.errors.map(({ message }) => message)
  }

  test('takes an event id, even if the item has a field called after', () => {
    assert.equal(afterOf({ id: '1042' }), 1042)
    assert.equal(afterOf({ id: 1042 }), 1042)
    assert.equal(afterOf({ id: '0' }), 0)
    assert.equal(afterOf(undefined, 'subscription { newNote(after: "12") { id } }'), 12)
    assert.equal(afterOf({ id: null }), undefined)
    assert.equal(afterOf(), undefined)
    assert.equal(afterOf(undefined, 'subscription { noteDeleted { id } }'), undefined)
  })

  test('refuses anything else', () => {
    for (const id of ['', '-1', '1.5', '01', '1e3', 'abc', '٣', '9007199254740993', '1'.repeat(10_000)]) {
      assert.match(String(afterOf({ id })), /"after" must be the `eventId` of a payload/)
    }
    assert.match(String(afterOf({ id: {} })), /ID cannot represent/)
  })

  test('does not split subscribers with the same selection, and costs more', () => {
    const [first, second] = [bind(source, { id: '1' }), bind(source, { id: '2' })]
    assert.ok(first.outcome === 'bound' && second.outcome === 'bound')
    assert.equal(first.retained?.key, second.retained?.key)
    assert.equal(first.cost, 101)
  })
})
