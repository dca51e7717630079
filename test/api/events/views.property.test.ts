/**
 * Random rules, changes, subscribers and filters: pages, streams and the lists read before and after each change
 * agree on the events.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRest, type Rest } from '../../../src/api/rest/rest.ts'
import type { Reply } from '../../../src/base/call.ts'
import { anonymous, type Principal, system, user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import {
  type AccessRule,
  anyone,
  choice,
  collection,
  field,
  model,
  nobody,
  owner,
  related,
  relation,
  role,
  signedIn,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { cases } from '../../cases.ts'
import { idempotencyOf } from '../../engine/idempotency/of-store.ts'
import {
  type DatabaseKind,
  openStore,
  postgres,
  rowSecurityPostgres,
  sqlite,
} from '../contract/rest/databases.ts'
import { seedItem, toCall } from '../contract/rest/harness.ts'
import { until } from '../transports/service.ts'
import { eventsOf } from './parts.ts'

const letters = ['x', 'y', 'z'] as const

/** Rules that read only the row itself and rows that never change. */
const rules = fc.constantFrom<AccessRule>(
  anyone,
  signedIn,
  role('admin'),
  owner('owner_id'),
  field('a').eq('x'),
  field('a').ne('y').and(owner('owner_id')),
  field('hidden').eq('x').or(owner('owner_id')),
  related('shelf', field('label').eq('x')),
  related('shelf', owner('owner_id')).or(role('admin')),
)
const filters = fc.constantFrom(
  '',
  '',
  'a[eq]=x',
  'a[ne]=x',
  'b[in]=x,z',
  'b[null]=true',
  'shelf.label[eq]=x',
  'owner_id[eq]=1',
)

interface Change {
  readonly kind: 'create' | 'update' | 'delete'
  /** An index into the existing items. */
  readonly at: number
  readonly values: Readonly<Record<string, JsonValue>>
}

const letter = fc.constantFrom(...letters)
const maybe = fc.option(letter)
const values = fc.record({
  a: letter,
  b: maybe,
  hidden: maybe,
  owner_id: fc.constantFrom(1, 2),
  shelf_id: fc.option(fc.constantFrom(1, 2)),
})
const changes = fc.array(
  fc.record<Change>({
    kind: fc.constantFrom('create', 'update', 'update', 'update', 'delete'),
    at: fc.nat(),
    values,
  }),
  { minLength: 4, maxLength: 12 },
)

const declare = (read: AccessRule, readB: AccessRule) =>
  model({
    users: users({ access: { read: owner('id').or(role('admin')) } }),
    shelves: collection({
      fields: {
        label: choice(letters),
        owner_id: relation('users', { inverse: 'shelves' }),
      },
      access: { read: anyone },
    }),
    things: collection({
      fields: {
        a: choice(letters),
        b: choice(letters, { optional: true, access: { read: readB } }),
        hidden: choice(letters, { optional: true, access: { read: nobody } }),
        owner_id: relation('users', { inverse: 'things' }),
        shelf_id: relation('shelves', { optional: true, inverse: 'things' }),
      },
      access: { read },
    }),
  })

const listeners: readonly Principal[] = [
  user(1, 'user', 'all'),
  user(2, 'user', 'all'),
  user(2, 'admin', 'all'),
  user(1, 'user', new Set(['read:thing', 'read:shelf'])),
  anonymous('192.0.2.1'),
]

interface EventsFixture {
  readonly store: Store
  readonly run: Run
  readonly rest: Rest
  close(): Promise<void>
}

async function open(kind: DatabaseKind, read: AccessRule, readB: AccessRule): Promise<EventsFixture> {
  const checked = checkModel(declare(read, readB))
  const { store, close } = await openStore(kind, checked)
  const run = createRun(createGuard(checked), store)
  const parts = eventsOf(store)
  const idempotency = idempotencyOf(store, run)
  const hooks = new Map()
  const rest = createRest({ model: checked, run, hooks, idempotency, baseUrl: undefined, events: parts })
  for (const name of ['ann', 'ben']) await seedItem(run, 'users', { name, email: `${name}@example.com` })
  for (const owner_id of [1, 2])
    await seedItem(run, 'shelves', { label: owner_id === 1 ? 'x' : 'y', owner_id })
  return {
    store,
    run,
    rest,
    async close() {
      parts.events.hub.close()
      await close()
    },
  }
}

type Item = Readonly<Record<string, JsonValue>>
interface ReceivedEvent {
  readonly type: string
  readonly item_id: number
  readonly changed?: readonly string[]
  readonly data: Item | null
}

/** The item in the list, or null. A caller who may not read the collection sees no item. */
async function findInList(
  { rest }: EventsFixture,
  id: number,
  filter: string,
  who: Principal,
): Promise<Item | null> {
  const query = `id[eq]=${id}${filter === '' ? '' : `&${filter}`}`
  try {
    const { body } = await rest(toCall({ url: `/api/v1/things?${query}` }), who)
    return JSON.parse(String(body)).data[0] ?? null
  } catch {
    return null
  }
}

interface ListedItem {
  /** The item in the filtered list. */
  readonly matching: Item | null
  readonly unfiltered: Item | null
}

const readItem = async (
  fixture: EventsFixture,
  id: number,
  filter: string,
  who: Principal,
): Promise<ListedItem> => ({
  matching: await findInList(fixture, id, filter, who),
  unfiltered: await findInList(fixture, id, '', who),
})

function expectedEventsOf(
  kind: Change['kind'],
  item_id: number,
  before: ListedItem,
  after: ListedItem,
): ReceivedEvent[] {
  if (kind === 'create')
    return after.matching ? [{ type: 'thing.created', item_id, data: after.matching }] : []
  if (kind === 'delete')
    return before.matching ? [{ type: 'thing.deleted', item_id, data: before.matching }] : []
  const { matching: data } = after
  if (data === null) return before.matching ? [{ type: 'thing.deleted', item_id, data: null }] : []
  const changed = Object.keys(data).filter(
    name =>
      before.unfiltered === null || JSON.stringify(before.unfiltered[name]) !== JSON.stringify(data[name]),
  )
  return changed.length > 0 ? [{ type: 'thing.updated', item_id, changed, data }] : []
}

/** Makes the change and returns the id of its item; undefined when no item exists to change. */
async function applyChange(
  { run }: EventsFixture,
  { kind, values }: Change,
  id: number | undefined,
): Promise<number | undefined> {
  if (kind === 'create') return seedItem(run, 'things', values)
  if (id === undefined) return undefined
  const names = Object.keys(values)
  const shape =
    kind === 'update'
      ? updateShape('things', names)
      : ({ kind: 'delete', collection: 'things', id: 0, ifMatch: undefined } as const)
  await run.write({ shape, args: kind === 'update' ? [id, ...Object.values(values)] : [id] }, system)
  return id
}

interface Subscriber {
  readonly filter: string
  readonly who: Principal
}

async function readPages(
  { rest }: EventsFixture,
  { filter, who }: Subscriber,
  from: number,
  limit: number,
): Promise<readonly ReceivedEvent[]> {
  const received: ReceivedEvent[] = []
  for (let after = String(from); ; ) {
    const query = `collections=things&after=${after}&limit=${limit}${filter && `&${filter}`}`
    const { body } = await rest(toCall({ url: `/api/v1/events?${query}` }), who)
    const { data, meta } = JSON.parse(String(body))
    received.push(...data)
    if (!meta.has_more) return received
    after = meta.next_after
  }
}

interface OpenStream {
  readonly received: ReceivedEvent[]
  end(): void
}

async function openStream(
  { rest }: EventsFixture,
  { filter, who }: Subscriber,
  after: string,
): Promise<OpenStream> {
  const query = `collections=things${after}${filter && `&${filter}`}`
  const headers = { accept: 'text/event-stream' }
  const { body }: Reply = await rest(toCall({ url: `/api/v1/events?${query}`, headers }), who)
  const parts = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
  const received: ReceivedEvent[] = []
  const read = async () => {
    for (let part = await parts.next(); !part.done; part = await parts.next()) {
      for (const line of part.value.split('\n'))
        if (line.startsWith('data: ')) received.push(JSON.parse(line.slice(6)))
    }
  }
  void read()
  return { received, end: () => void parts.return?.() }
}

const withoutIds = ({ type, item_id, changed, data }: ReceivedEvent): ReceivedEvent => ({
  type,
  item_id,
  ...(changed && { changed }),
  data,
})

async function assertViewsAgree(
  fixture: EventsFixture,
  all: readonly Change[],
  subscribers: readonly Subscriber[],
  limit: number,
): Promise<void> {
  const start = await fixture.store.changes.last()
  const possible: Subscriber[] = []
  for (const subscriber of subscribers) {
    const refused = await readPages(fixture, subscriber, start, 1).catch(() => undefined)
    if (refused) possible.push(subscriber)
  }
  const live = await Promise.all(possible.map(subscriber => openStream(fixture, subscriber, '')))
  const expectedEvents = possible.map((): ReceivedEvent[] => [])
  const ids: number[] = []
  for (const change of all) {
    const position = change.at % Math.max(ids.length, 1)
    const id = ids[position] ?? 0
    const before = await Promise.all(possible.map(({ filter, who }) => readItem(fixture, id, filter, who)))
    const changed = await applyChange(fixture, change, ids[position])
    if (changed === undefined) continue
    if (change.kind === 'create') ids.push(changed)
    if (change.kind === 'delete') ids.splice(position, 1)
    for (const [index, { filter, who }] of possible.entries()) {
      const after = await readItem(fixture, changed, filter, who)
      expectedEvents[index]?.push(...expectedEventsOf(change.kind, changed, before[index] ?? after, after))
    }
  }
  for (const [index, subscriber] of possible.entries()) {
    const inPages = await readPages(fixture, subscriber, start, limit)
    assert.deepEqual(
      inPages.map(withoutIds),
      expectedEvents[index],
      `pages of ${subscriber.who.access.key} with ${subscriber.filter}`,
    )
    const replayed = await openStream(fixture, subscriber, `&after=${start}`)
    const streams = [live[index], replayed].filter(stream => stream !== undefined)
    await until(() => streams.every(({ received }) => received.length >= inPages.length))
    for (const { received, end } of streams) {
      assert.deepEqual(received, inPages)
      end()
    }
  }
}

const runs = [
  [sqlite, cases(25, 10)],
  [postgres, cases(4, 2)],
  [rowSecurityPostgres, cases(2, 1)],
] as const

for (const [kind, parameters] of runs) {
  test(`pages and streams contain the events that lists before and after each change imply (${kind.name})`, async () => {
    const subscriber = fc.record({ filter: filters, who: fc.constantFrom(...listeners) })
    const subscribers = fc.array(subscriber, { minLength: 3, maxLength: 5 })
    const limits = fc.constantFrom(1, 2, 100)
    await fc.assert(
      fc.asyncProperty(
        rules,
        rules,
        changes,
        subscribers,
        limits,
        async (read, readB, all, listening, limit) => {
          const fixture = await open(kind, read, readB)
          try {
            await assertViewsAgree(fixture, all, listening, limit)
          } finally {
            await fixture.close()
          }
        },
      ),
      parameters,
    )
  })
}
