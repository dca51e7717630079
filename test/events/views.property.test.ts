/**
 * Random rules, changes, listeners and filters: pages, streams and what lists said before and after each change tell the
 * same events.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Call, Reply } from '../../src/call.ts'
import { createEvents } from '../../src/events/events.ts'
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
} from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import { createGuard } from '../../src/plan/guard.ts'
import type { Run } from '../../src/plan/run.ts'
import { updateShape } from '../../src/plan/system-plans.ts'
import { anonymous, type Principal, system, user } from '../../src/principal.ts'
import { createRest, type Rest } from '../../src/rest/rest.ts'
import { createRun } from '../../src/serve/store.ts'
import type { Store } from '../../src/store/store.ts'
import { seedItem, toCall } from '../contract/rest/bench.ts'
import { type Kind, lockedPostgres, openStore, postgres, sqlite } from '../contract/rest/databases.ts'
import { idempotencyOf } from '../idempotency/of-store.ts'
import { until } from '../transports/service.ts'

const letters = ['x', 'y', 'z'] as const

/** Rules over the row itself and what it refers to; nothing that they look at changes but the row. */
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
  /** Which of the items that are there. */
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

interface Place {
  readonly store: Store
  readonly run: Run
  readonly rest: Rest
  close(): Promise<void>
}

async function open(kind: Kind, read: AccessRule, readB: AccessRule): Promise<Place> {
  const checked = checkModel(declare(read, readB))
  const { store, close } = await openStore(kind, checked)
  const run = createRun(createGuard(checked), store)
  const onFault = (error: unknown) => {
    throw error
  }
  const limits = { maxAnonymousConnections: 100, maxConnections: 100 }
  const identify = () => {
    throw new Error('nobody has a credential')
  }
  const events = createEvents({ feed: store.changes, identify, onFault, ...limits })
  const clientOf = ({ address }: Call) => ({ credential: undefined, address, onGone: () => () => {} })
  const parts = { events, feed: store.changes, clientOf, maxBufferedBytes: 1_000_000 }
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
      events.hub.close()
      await close()
    },
  }
}

type Item = Readonly<Record<string, JsonValue>>
interface Told {
  readonly type: string
  readonly item_id: number
  readonly changed?: readonly string[]
  readonly data: Item | null
}

/** The item in the list, or null. A caller who may read nothing at all sees nothing. */
async function listed({ rest }: Place, id: number, filter: string, who: Principal): Promise<Item | null> {
  const query = `id[eq]=${id}${filter === '' ? '' : `&${filter}`}`
  try {
    const { body } = await rest(toCall({ url: `/api/v1/things?${query}` }), who)
    return JSON.parse(String(body)).data[0] ?? null
  } catch {
    return null
  }
}

interface Seen {
  /** As the list with the filter has it. */
  readonly matching: Item | null
  readonly whole: Item | null
}

const seen = async (place: Place, id: number, filter: string, who: Principal): Promise<Seen> => ({
  matching: await listed(place, id, filter, who),
  whole: await listed(place, id, '', who),
})

function expected(kind: Change['kind'], item_id: number, before: Seen, after: Seen): Told[] {
  if (kind === 'create')
    return after.matching ? [{ type: 'thing.created', item_id, data: after.matching }] : []
  if (kind === 'delete')
    return before.matching ? [{ type: 'thing.deleted', item_id, data: before.matching }] : []
  const { matching: data } = after
  if (data === null) return before.matching ? [{ type: 'thing.deleted', item_id, data: null }] : []
  const changed = Object.keys(data).filter(
    name => before.whole === null || JSON.stringify(before.whole[name]) !== JSON.stringify(data[name]),
  )
  return changed.length > 0 ? [{ type: 'thing.updated', item_id, changed, data }] : []
}

/** Makes the change, and returns the id of its item; undefined where there is nothing to change. */
async function make(
  { run }: Place,
  { kind, values: given }: Change,
  id: number | undefined,
): Promise<number | undefined> {
  if (kind === 'create') return seedItem(run, 'things', given)
  if (id === undefined) return undefined
  const names = Object.keys(given)
  const shape =
    kind === 'update'
      ? updateShape('things', names)
      : ({ kind: 'delete', collection: 'things', id: 0, ifMatch: undefined } as const)
  await run.write({ shape, args: kind === 'update' ? [id, ...Object.values(given)] : [id] }, system)
  return id
}

interface Ask {
  readonly filter: string
  readonly who: Principal
}

async function readPages(
  { rest }: Place,
  { filter, who }: Ask,
  from: number,
  limit: number,
): Promise<readonly Told[]> {
  const told: Told[] = []
  for (let after = String(from); ; ) {
    const query = `collections=things&after=${after}&limit=${limit}${filter && `&${filter}`}`
    const { body } = await rest(toCall({ url: `/api/v1/events?${query}` }), who)
    const { data, meta } = JSON.parse(String(body))
    told.push(...data)
    if (!meta.has_more) return told
    after = meta.next_after
  }
}

interface Streamed {
  readonly told: Told[]
  leave(): void
}

async function openStream({ rest }: Place, { filter, who }: Ask, after: string): Promise<Streamed> {
  const query = `collections=things${after}${filter && `&${filter}`}`
  const headers = { accept: 'text/event-stream' }
  const { body }: Reply = await rest(toCall({ url: `/api/v1/events?${query}`, headers }), who)
  const parts = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
  const told: Told[] = []
  const read = async () => {
    for (let part = await parts.next(); !part.done; part = await parts.next()) {
      for (const line of part.value.split('\n'))
        if (line.startsWith('data: ')) told.push(JSON.parse(line.slice(6)))
    }
  }
  void read()
  return { told, leave: () => void parts.return?.() }
}

const bare = ({ type, item_id, changed, data }: Told): Told => ({
  type,
  item_id,
  ...(changed && { changed }),
  data,
})

async function holds(
  place: Place,
  all: readonly Change[],
  asks: readonly Ask[],
  limit: number,
): Promise<void> {
  const start = await place.store.changes.last()
  const possible: Ask[] = []
  for (const ask of asks) {
    const refused = await readPages(place, ask, start, 1).catch(() => undefined)
    if (refused) possible.push(ask)
  }
  const live = await Promise.all(possible.map(ask => openStream(place, ask, '')))
  const wanted = possible.map((): Told[] => [])
  const ids: number[] = []
  for (const change of all) {
    const at = change.at % Math.max(ids.length, 1)
    const id = ids[at] ?? 0
    const before = await Promise.all(possible.map(({ filter, who }) => seen(place, id, filter, who)))
    const made = await make(place, change, ids[at])
    if (made === undefined) continue
    if (change.kind === 'create') ids.push(made)
    if (change.kind === 'delete') ids.splice(at, 1)
    for (const [index, { filter, who }] of possible.entries()) {
      const after = await seen(place, made, filter, who)
      wanted[index]?.push(...expected(change.kind, made, before[index] ?? after, after))
    }
  }
  for (const [index, ask] of possible.entries()) {
    const inPages = await readPages(place, ask, start, limit)
    assert.deepEqual(inPages.map(bare), wanted[index], `pages of ${ask.who.access.key} with ${ask.filter}`)
    const replayed = await openStream(place, ask, `&after=${start}`)
    const streams = [live[index], replayed].filter(one => one !== undefined)
    await until(() => streams.every(({ told }) => told.length >= inPages.length))
    for (const { told, leave } of streams) {
      assert.deepEqual(told, inPages)
      leave()
    }
  }
}

const runs = [
  [sqlite, 25],
  [postgres, 4],
  [lockedPostgres, 2],
] as const

for (const [kind, numRuns] of runs) {
  test(`pages, streams and lists tell the same (${kind.name})`, async () => {
    const ask = fc.record({ filter: filters, who: fc.constantFrom(...listeners) })
    const asks = fc.array(ask, { minLength: 3, maxLength: 5 })
    const limits = fc.constantFrom(1, 2, 100)
    await fc.assert(
      fc.asyncProperty(rules, rules, changes, asks, limits, async (read, readB, all, listening, limit) => {
        const place = await open(kind, read, readB)
        try {
          await holds(place, all, listening, limit)
        } finally {
          await place.close()
        }
      }),
      { numRuns },
    )
  })
}
