/**
 * Events about items whose related rows have changed or are gone, and about items that a rule hid for a time, on every
 * transport: a listener is told only what it could have read when the change was committed, and may read now.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { createClient } from 'graphql-sse'
import {
  anyone,
  boolean,
  collection,
  datetime,
  field,
  model,
  not,
  now,
  owner,
  related,
  relation,
  signedIn,
  text,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import { open } from '../../../src/server/serve/serve.ts'
import { SteppedClock } from '../../../src/tools/testing/clock.ts'
import { TestUsers } from '../../../src/tools/testing/users.ts'
import { preparedDatabase } from '../../setups/databases/prepared.ts'
import { until } from '../../setups/databases/replicated.ts'
import { type Event, fetchEvents, stream } from './listener.ts'

const open_ = { create: anyone, update: anyone, delete: anyone }
const cascade = { onDelete: 'cascade' } as const

const declared = checkModel(
  model({
    users: users({ fields: { banned: boolean({ default: false }) }, access: { read: signedIn } }),
    posts: collection({
      fields: { title: text(), author_id: relation('users', { inverse: 'posts', ...cascade }) },
      access: { ...open_, read: not(related('author', field('banned').eq(true))) },
    }),
    projects: collection({
      fields: { private: boolean({ default: false }) },
      access: { ...open_, read: field('private').eq(false) },
    }),
    tasks: collection({
      fields: {
        title: text(),
        project_id: relation('projects', { inverse: 'tasks', ...cascade, optional: true }),
      },
      access: { ...open_, read: not(field('project.private').eq(true)) },
    }),
    folders: collection({
      fields: { trashed_at: datetime({ optional: true }) },
      access: { ...open_, read: anyone },
    }),
    papers: collection({
      fields: { title: text(), folder_id: relation('folders', { inverse: 'papers', ...cascade }) },
      access: { ...open_, read: field('folder.trashed_at').eq(null) },
    }),
    items: collection({
      fields: { title: text() },
      access: { ...open_, read: not(related('holds', anyone)) },
    }),
    holds: collection({
      fields: { item_id: relation('items', { inverse: 'holds', ...cascade }) },
      access: { ...open_, read: anyone },
    }),
    chats: collection({
      fields: { title: text() },
      access: { ...open_, read: not(related('blocks', owner('user_id'))) },
    }),
    blocks: collection({
      fields: {
        chat_id: relation('chats', { inverse: 'blocks', ...cascade }),
        user_id: relation('users', { inverse: 'blocks', ...cascade }),
      },
      access: { ...open_, read: anyone },
    }),
    notes: collection({
      fields: { title: text(), embargo: datetime({ optional: true }) },
      access: { ...open_, read: field('embargo').eq(null).or(field('embargo').lte(now)) },
    }),
  }),
)

const titled = ['posts', 'tasks', 'papers', 'items', 'chats', 'notes'] as const

interface Rows {
  create(values: object): Promise<{ readonly id: number }>
  update(id: number, values: object): Promise<unknown>
  delete(id: number): Promise<unknown>
}
type Collections = (typeof titled)[number] | 'users' | 'projects' | 'folders' | 'holds' | 'blocks'
type TestData = Readonly<Record<Collections, Rows>>

interface Fixture {
  readonly clock: SteppedClock
  readonly url: string
  readonly data: TestData
  readonly bob: { readonly id: number; readonly key: string }
  readonly webhookBodies: string[]
  readonly close: () => Promise<void>
}

async function openFixture(database: string): Promise<Fixture> {
  const clock = new SteppedClock(new Date())
  const given = {
    port: 0,
    host: '127.0.0.1',
    logLevel: 'silent',
    rateLimit: 'off',
    'webhooks.allowPrivate': true,
    secretKeys: ['the-key-of-a-service-that-is-only-tested-in-memory'],
  } as const
  const settings = { ...readSettings({ given }), database }
  const mail = { delivers: false, send: async () => {} }
  const { service, run, records } = await open(declared, settings, createLog(settings), {
    simulation: { clock, mail },
  })
  const webhookBodies: string[] = []
  const receiver = createServer(async (request, response) => {
    webhookBodies.push(await textOf(request))
    response.writeHead(204).end()
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  const people = new TestUsers(run, records, service.data)
  const id = Number((await people.create({ name: 'Bob' }, true)).id)
  const key = await people.keyOf(id)
  const created = await fetch(`${service.url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      types: ['*'],
    }),
  })
  assert.equal(created.status, 201, await created.text())
  return {
    ...{ clock, url: service.url, bob: { id, key }, webhookBodies },
    data: service.data as unknown as TestData,
    async close() {
      await service.close()
      receiver.close()
    },
  }
}

/** Every transport by which Bob listens. */
async function listen({ url, bob, webhookBodies }: Fixture) {
  const live = await stream(url, '', { key: bob.key })
  const headers = { Authorization: `Bearer ${bob.key}` }
  const client = createClient({ url: `${url}/graphql`, headers, retryAttempts: 0 })
  const received: string[] = []
  const names = titled.map(name => name.slice(0, -1))
  const subscribe = (query: string, payloads: string[]) =>
    client.subscribe(
      { query },
      { next: result => payloads.push(JSON.stringify(result)), error: () => {}, complete: () => {} },
    )
  const fields = (name: string, after: string) =>
    [`${name}Updated`, `${name}Deleted`, `new${name[0]?.toUpperCase()}${name.slice(1)}`].map(
      field => `subscription { ${field}${after} { title } }`,
    )
  for (const name of names) for (const query of fields(name, '')) subscribe(query, received)
  const from = webhookBodies.length
  return {
    /** What each transport has told, once all of them have told every marker. */
    async told(markers: readonly string[]) {
      const replayed: string[] = []
      for (const name of names) for (const query of fields(name, '(after: "0")')) subscribe(query, replayed)
      const replay = await stream(url, 'after=0', { key: bob.key })
      const texts = () => ({
        stream: JSON.stringify(live.blocks),
        replay: JSON.stringify(replay.blocks),
        graphql: received.join('\n'),
        graphqlReplay: replayed.join('\n'),
        webhook: webhookBodies.slice(from).join('\n'),
      })
      await until(`all transports tell ${markers}`, () =>
        Object.values(texts()).every(text => markers.every(marker => text.includes(marker))),
      )
      const pages = JSON.stringify(await fetchEvents(url, 'limit=1000', bob.key))
      for (const opened of [live, replay]) opened.close()
      client.dispose()
      return { ...texts(), pages }
    },
  }
}

const id = ({ id: value }: { readonly id: number }): number => value

async function batch({ url, bob }: Fixture, operations: readonly object[]): Promise<void> {
  const response = await fetch(`${url}/api/v1/batch`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${bob.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ operations }),
  })
  assert.equal(response.status, 200, await response.text())
}

/** Hides an item, corrects it, and deletes what hides it. */
type Story = (fixture: Fixture) => Promise<void>

const stories: Readonly<Record<string, Story>> = {
  'the author is banned, and the account is deleted': async ({ data }) => {
    const author = id(
      await data.users.create({ name: 'Ann', email: `${Math.random()}@example.com`, banned: true }),
    )
    const post = id(await data.posts.create({ title: 'SECRET post', author_id: author }))
    await data.posts.update(post, { title: 'SECRET corrected' })
    await data.users.delete(author)
  },
  'the project is private, and is deleted': async ({ data }) => {
    const project = id(await data.projects.create({ private: true }))
    const task = id(await data.tasks.create({ title: 'SECRET task', project_id: project }))
    await data.tasks.update(task, { title: 'SECRET corrected' })
    await data.projects.delete(project)
  },
  'the folder is in the bin, which is emptied': async ({ data }) => {
    const folder = id(await data.folders.create({ trashed_at: '2026-01-01T00:00:00Z' }))
    await data.papers.create({ title: 'SECRET paper', folder_id: folder })
    await data.folders.delete(folder)
  },
  'the item has a hold, and is deleted with it': async ({ data }) => {
    const item = id(await data.items.create({ title: 'public once' }))
    await data.holds.create({ item_id: item })
    await data.items.update(item, { title: 'SECRET item' })
    await data.items.delete(item)
  },
  'the item has a hold, which is released': async ({ data }) => {
    const item = id(await data.items.create({ title: 'public once' }))
    const hold = id(await data.holds.create({ item_id: item }))
    await data.items.update(item, { title: 'SECRET item' })
    await data.items.update(item, { title: 'harmless' })
    await data.holds.delete(hold)
  },
  'the text is corrected while the project is private, and the project opens': async ({ data }) => {
    const project = id(await data.projects.create({ private: true }))
    const task = id(await data.tasks.create({ title: 'SECRET task', project_id: project }))
    await data.tasks.update(task, { title: 'harmless' })
    await data.projects.update(project, { private: false })
  },
  'the task leaves a private project before the project opens': async ({ data }) => {
    const project = id(await data.projects.create({ private: true }))
    const task = id(await data.tasks.create({ title: 'SECRET task', project_id: project }))
    await data.tasks.update(task, { title: 'harmless', project_id: null })
    await data.projects.update(project, { private: false })
  },
  'the listener is blocked, and the chat is deleted': async ({ data, bob }) => {
    const chat = id(await data.chats.create({ title: 'harmless' }))
    await data.blocks.create({ chat_id: chat, user_id: bob.id })
    await data.chats.update(chat, { title: 'SECRET chat' })
    await data.chats.delete(chat)
  },
  'a batch releases the hold and deletes the item': async fixture => {
    const { data } = fixture
    const item = id(await data.items.create({ title: 'public once' }))
    const hold = id(await data.holds.create({ item_id: item }))
    await data.items.update(item, { title: 'SECRET item' })
    await batch(fixture, [
      { method: 'DELETE', path: `/holds/${hold}` },
      { method: 'DELETE', path: `/items/${item}` },
    ])
  },
  'a batch corrects the text and makes the project private, which opens later': async fixture => {
    const { data } = fixture
    const project = id(await data.projects.create({}))
    const task = id(await data.tasks.create({ title: 'public once', project_id: project }))
    await batch(fixture, [
      { method: 'PATCH', path: `/tasks/${task}`, body: { title: 'SECRET task' } },
      { method: 'PATCH', path: `/projects/${project}`, body: { private: true } },
    ])
    await data.tasks.update(task, { title: 'harmless' })
    await data.projects.update(project, { private: false })
  },
  'an embargo ends': async ({ data, clock }) => {
    const embargo = new Date(clock.now() + 4000).toISOString()
    const note = id(await data.notes.create({ title: 'SECRET note', embargo }))
    await data.notes.update(note, { title: 'harmless' })
    clock.advance({ seconds: 5 })
  },
  'an embargo is postponed before it ends, and the text corrected': async ({ data, clock }) => {
    const embargo = new Date(clock.now() + 4000).toISOString()
    const note = id(await data.notes.create({ title: 'SECRET note', embargo }))
    await data.notes.update(note, { title: 'SECRET too', embargo: '2090-01-01T00:00:00Z' })
    await data.notes.update(note, { title: 'SECRET still' })
    clock.advance({ seconds: 5 })
  },
}

/** Changes that Bob may see, of every collection, and what he is told of them. */
async function tellMarkers({ data }: Fixture, marker: string): Promise<void> {
  const author = id(await data.users.create({ name: 'Open', email: `${Math.random()}@example.com` }))
  const folder = id(await data.folders.create({}))
  const references = {
    posts: { author_id: author },
    tasks: { project_id: id(await data.projects.create({})) },
    papers: { folder_id: folder },
    items: {},
    chats: {},
    notes: {},
  }
  for (const name of titled) {
    const created = id(await data[name].create({ title: `${name} opened`, ...references[name] }))
    await data[name].update(created, { title: `${name} ${marker}` })
    await data[name].delete(created)
  }
}

const databases = {
  SQLite: async () => ({ url: ':memory:', drop: async () => {} }),
  PostgreSQL: () => preparedDatabase(declared),
}

for (const [name, create] of Object.entries(databases)) {
  describe(`${name}: events on every transport`, () => {
    let fixture: Fixture
    let drop: () => Promise<void>
    before(async () => {
      const database = await create()
      drop = database.drop
      fixture = await openFixture(database.url)
    })
    after(async () => {
      await fixture.close()
      await drop()
    })

    it('do not tell what was hidden at its commit, whatever has happened since', async () => {
      const listening = await listen(fixture)
      for (const story of Object.values(stories)) await story(fixture)
      await tellMarkers(fixture, 'marker')
      const told = await listening.told(titled.map(collection => `${collection} marker`))
      for (const [transport, text] of Object.entries(told)) {
        assert.doesNotMatch(text, /SECRET/, transport)
        for (const collection of titled) {
          assert.ok(text.includes(`${collection} marker`), `${transport} tells of ${collection}`)
        }
      }
      const events: readonly Event[] = JSON.parse(told.pages)
      const deleted = events.filter(({ type }) => type.endsWith('.deleted')).map(({ data }) => data?.title)
      for (const collection of titled) assert.ok(deleted.includes(`${collection} marker`), collection)
    })
  })
}
