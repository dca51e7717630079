/** How one subscriber is shown a change. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type EventFilter, firstFilterParam } from '../../../src/api/events/event-shapes.ts'
import { createEventViews, type EventViews } from '../../../src/api/events/show-event.ts'
import { anonymous, app, type Principal, system, user } from '../../../src/base/principal.ts'
import type { LoggedChange } from '../../../src/engine/plan/change-feed.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { openSqlite, type SqliteStore } from '../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, field, model, owner, relation, role, text, users } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { loggedChange } from './stub.ts'

const declared = checkModel(
  model({
    users: users({ access: { read: owner('id').or(role('admin')) } }),
    notes: collection({
      fields: {
        title: text(),
        state: text(),
        secret: text({ optional: true, access: { read: owner('author_id').or(role('admin')) } }),
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
let run: Run
let views: EventViews
before(async () => {
  store = openSqlite(declared, { file: ':memory:' })
  run = createRun(createGuard(declared), store)
  views = createEventViews(declared, run)
  for (const name of ['ada', 'bob']) {
    const set = ['name', 'email'].map((field, param) => ({ field, param }))
    const shape = { kind: 'create', collection: 'users', set, computed: [], select: [] } as const
    await run.write({ shape, args: [name, `${name}@example.com`] }, system)
  }
})
after(() => store.close())

const { at } = loggedChange({})
const ada = user(1, 'user', 'all')
const bob = user(2, 'user', 'all')
const admin = user(3, 'admin', 'all')
const guest = anonymous('192.0.2.1')

type Row = Readonly<Record<string, unknown>>
const note: Row = {
  id: 7,
  title: 'a',
  state: 'public',
  secret: 's',
  admins: 'x',
  author_id: 1,
  created_at: at,
}
const createdChange = (row: Row = note, rest: Partial<LoggedChange> = {}): LoggedChange => ({
  ...loggedChange({}),
  collection: 'notes',
  event: 1042,
  id: 7,
  row: JSON.stringify(row),
  userId: 1,
  ...rest,
})
const updatedChange = (patch: Row, row: Row = note, rest: Partial<LoggedChange> = {}): LoggedChange =>
  createdChange(
    { ...row, ...patch },
    { kind: 'updated', before: JSON.stringify(row), changed: Object.keys(patch), ...rest },
  )

async function showTo(change: LoggedChange, principal: Principal, filter?: EventFilter): Promise<unknown> {
  const payload = await views.show(change, principal, filter)
  if (payload === null) return null
  const event = JSON.parse(payload.text)
  assert.equal(payload.type, event.type)
  return event
}
const head = { id: '1042', created_at: at, collection: 'notes', item_id: 7 }
const actor = { user_id: 1, app_id: null }

describe('a created item', () => {
  it('is shown with the fields that the subscriber can read, and with the actor if that user is readable', async () => {
    const type = 'note.created'
    const data = { id: 7, title: 'a', state: 'public', secret: 's', author_id: 1, created_at: at }
    assert.deepEqual(await showTo(createdChange(), ada), { ...head, type, actor, data })
    assert.deepEqual(await showTo(createdChange(), bob), { ...head, type, data: { ...data, secret: null } })
    assert.deepEqual(await showTo(createdChange(), admin), { ...head, type, actor, data: { ...note } })
    const { secret: _, ...open } = data
    assert.deepEqual(await showTo(createdChange(), guest), { ...head, type, data: open })
  })

  it('has its members in the documented order', async () => {
    const { text } = (await views.show(updatedChange({ title: 'b' }), ada)) ?? { text: '' }
    const keys = ['id', 'type', 'created_at', 'collection', 'item_id', 'actor', 'changed', 'data']
    assert.deepEqual(Object.keys(JSON.parse(text)), keys)
  })

  it('names the app that made the change', async () => {
    const event = (await showTo(createdChange(note, { appId: 5 }), ada)) as { actor: unknown }
    assert.deepEqual(event.actor, { user_id: 1, app_id: 5 })
  })

  it('is hidden from callers who cannot read the row or lack the scope', async () => {
    assert.equal(await showTo(createdChange({ ...note, state: 'draft' }), bob), null)
    assert.equal(await showTo(createdChange(), user(1, 'user', new Set(['read:user']))), null)
    assert.equal(await showTo(createdChange(), app('c', new Set(['openid']))), null)
  })

  it('hides the actor from tokens without the scope to read users', async () => {
    const event = (await showTo(createdChange(), user(1, 'user', new Set(['read:note'])))) as Row
    assert.equal('actor' in event, false)
  })

  it('is not shown when its collection no longer exists', async () => {
    assert.equal(await showTo(createdChange(note, { collection: 'gone' }), admin), null)
  })
})

describe('an updated item', () => {
  it('names the changed fields that the subscriber can read', async () => {
    const event = (await showTo(updatedChange({ title: 'b', secret: 't', admins: 'y' }), ada)) as Row
    assert.equal(event.type, 'note.updated')
    assert.deepEqual(event.changed, ['title', 'secret'])
    const forBob = (await showTo(updatedChange({ title: 'b', secret: 't', admins: 'y' }), bob)) as Row
    assert.deepEqual(forBob.changed, ['title'])
  })

  it('is not shown when only hidden fields changed', async () => {
    assert.equal(await showTo(updatedChange({ admins: 'y' }), ada), null)
    assert.equal(await showTo(updatedChange({ secret: 't' }), bob), null)
    assert.notEqual(await showTo(updatedChange({ secret: 't' }), ada), null)
  })

  it('is a deletion without values for a subscriber who can no longer read the row', async () => {
    const type = 'note.deleted'
    assert.deepEqual(await showTo(updatedChange({ state: 'draft' }), bob), { ...head, type, data: null })
    assert.equal(((await showTo(updatedChange({ state: 'draft' }), ada)) as Row).type, 'note.updated')
    assert.equal(await showTo(updatedChange({ title: 'b' }, { ...note, state: 'draft' }), bob), null)
  })

  it('names every field for a subscriber who could not read the row before', async () => {
    const event = (await showTo(updatedChange({ state: 'public' }, { ...note, state: 'draft' }), bob)) as Row
    assert.equal(event.type, 'note.updated')
    assert.deepEqual(event.changed, ['id', 'title', 'state', 'secret', 'author_id', 'created_at'])
  })

  it('names a field whose value becomes readable or unreadable for the subscriber', async () => {
    const gaining = (await showTo(updatedChange({ author_id: 2 }), bob)) as Row
    assert.deepEqual(gaining.changed, ['secret', 'author_id'])
    const losing = (await showTo(updatedChange({ author_id: 2 }), ada)) as Row
    assert.deepEqual(losing.changed, ['secret', 'author_id'])
    assert.equal((losing.data as Row).secret, null)
  })

  it('has its own id even if an equal change follows', async () => {
    const first = (await showTo(updatedChange({ title: 'b' }), bob)) as Row
    const second = (await showTo(updatedChange({ title: 'b' }, note, { event: 1044 }), bob)) as Row
    assert.deepEqual([first.id, second.id], ['1042', '1044'])
  })
})

describe('a deleted item', () => {
  const deletedChange = (row: Row = note) => createdChange(row, { kind: 'deleted' })

  it('is shown with its last values to subscribers who could read it', async () => {
    const event = (await showTo(deletedChange(), bob)) as Row
    assert.equal(event.type, 'note.deleted')
    assert.deepEqual(event.data, {
      id: 7,
      title: 'a',
      state: 'public',
      secret: null,
      author_id: 1,
      created_at: at,
    })
    assert.equal('changed' in event, false)
    assert.equal(await showTo(deletedChange({ ...note, state: 'draft' }), bob), null)
  })
})

describe('an event filter', () => {
  const where = (name: string, value: string): EventFilter => ({
    filter: { kind: 'compare', field: name, operator: 'eq', param: firstFilterParam },
    args: [value],
  })

  it('applies to the row before and after: an update that leaves it is a deletion without values', async () => {
    assert.equal(((await showTo(createdChange(), bob, where('title', 'a'))) as Row).type, 'note.created')
    assert.equal(await showTo(createdChange(), bob, where('title', 'b')), null)
    const change = updatedChange({ title: 'b' })
    assert.deepEqual(await showTo(change, bob, where('title', 'a')), {
      ...head,
      type: 'note.deleted',
      data: null,
    })
    const entered = (await showTo(change, bob, where('title', 'b'))) as Row
    assert.deepEqual([entered.type, entered.changed], ['note.updated', ['title']])
    assert.equal(await showTo(change, bob, where('title', 'c')), null)
  })

  it('does not match by a value that is hidden in this row', async () => {
    assert.equal(await showTo(createdChange(), bob, where('secret', 's')), null)
    assert.notEqual(await showTo(createdChange(), ada, where('secret', 's')), null)
    assert.equal(await showTo(createdChange(), bob, where('admins', 'x')), null)
    assert.notEqual(await showTo(createdChange(), admin, where('admins', 'x')), null)
  })
})

describe('a subscriber who can never see an event', () => {
  it('is refused with the error of the guard', () => {
    const users = declared.collections.get('users')
    const notes = declared.collections.get('notes')
    assert.ok(users && notes)
    assert.throws(() => views.require(users, guest), { code: 'UNAUTHORIZED' })
    assert.throws(() => views.require(notes, user(1, 'user', new Set(['read:user']))), {
      code: 'INSUFFICIENT_SCOPE',
    })
    views.require(notes, guest)
  })
})

describe('a custom event type', () => {
  it('replaces the default type, and is shown to subscribers who can read the row', async () => {
    const change = updatedChange({}, note, { type: 'note.paused' })
    assert.equal(((await showTo(change, bob)) as Row).type, 'note.paused')
    assert.equal(await showTo(updatedChange({ state: 'draft' }, note, { type: 'note.paused' }), bob), null)
  })
})
