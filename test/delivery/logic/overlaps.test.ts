/** `noOverlap` over every transport, on every database: intervals, refusals and whom they name, and the writes that it holds for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  anyone,
  choice,
  collection,
  currentUser,
  date,
  datetime,
  field,
  integer,
  model,
  noOverlap,
  number,
  owner,
  relation,
  role,
  signedIn,
  string,
} from '../../../src/index.ts'
import { chosen } from '../../chosen.ts'
import { type Fixture, type Person, withFixture } from '../../identity/conformance/server.ts'
import { call } from '../../server/serve/service.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

const optional = { optional: true } as const
const writable = { create: signedIn, update: signedIn, delete: signedIn }

const declaration = model(
  {
    rooms: collection({ fields: { name: string() }, access: { read: anyone, ...writable } }),
    bookings: collection({
      fields: {
        title: string({ default: 'x' }),
        starts_at: datetime(optional),
        ends_at: datetime(optional),
        status: choice(['kept', 'cancelled'], { default: 'kept' }),
        room_id: relation('rooms', { inverse: 'bookings', optional: true, onDelete: 'clear' }),
        replaced_by_id: relation('bookings', { inverse: 'replaces', optional: true, onDelete: 'clear' }),
        user_id: relation('users', { default: currentUser, inverse: 'bookings' }),
      },
      // An hour later than the caller wants.
      prepare: ({ next }) => (next.title === 'later' ? { title: 'x', ends_at: '2026-05-01T23:00:00Z' } : {}),
      limits: [
        noOverlap('starts_at', 'ends_at', {
          per: 'room_id',
          where: field('status').ne('cancelled').and(field('replaced_by_id').eq(null)),
        }),
      ],
      access: { read: owner('user_id'), ...writable },
    }),
    leases: collection({
      fields: {
        first: date(),
        until: date({ access: { read: role('admin') } }),
      },
      limits: [noOverlap('first', 'until', { message: 'It is let.' })],
      access: { read: anyone, ...writable },
    }),
    shelves: collection({
      fields: { low: number(), high: number(), top: integer(optional), bottom: integer(optional) },
      limits: [noOverlap('low', 'high'), noOverlap('top', 'bottom', { per: 'low' })],
      access: { read: anyone, ...writable },
    }),
  },
  {
    actions: {
      book: action({
        access: signedIn,
        input: { hours: string(), room: integer() },
        async run({ input, data }) {
          const hours = input.hours.split(',').map(Number)
          const booked = hours.map(hour => {
            const [starts_at, ends_at] = [at(hour), at(hour + 1)]
            return data.bookings.create({ starts_at, ends_at, room_id: input.room })
          })
          await Promise.all(booked)
        },
      }),
    },
  },
)

function at(hour: number): string {
  return `2026-05-01T${String(hour).padStart(2, '0')}:00:00.000Z`
}

function hours(from: number | null, to: number | null) {
  return { starts_at: from === null ? null : at(from), ends_at: to === null ? null : at(to) }
}

type Json = Readonly<Record<string, unknown>>

const overlapping = 'No two bookings with the same room_id can overlap between starts_at and ends_at.'

function overlapsWith(id: unknown) {
  const details = [{ field: 'starts_at', code: 'overlap', message: `It overlaps with item ${id}.` }]
  return [409, { error: { code: 'CONFLICT', message: overlapping, details } }]
}

const unnamed = [409, { error: { code: 'CONFLICT', message: overlapping } }]

class Caller {
  readonly #url: string
  readonly #person: Person

  constructor({ url }: Fixture, person: Person) {
    this.#url = url
    this.#person = person
  }

  async ask(method: string, path: string, body?: unknown) {
    const { status, json, text } = await call(`${this.#url}/api/v1${path}`, {
      method,
      key: this.#person.key,
      body,
    })
    return { status, json, text, both: [status, json] }
  }

  async create(collectionName: string, body: unknown): Promise<Json> {
    const answer = await this.ask('POST', `/${collectionName}`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.json
  }

  async graphql(query: string): Promise<Json> {
    const body = { query }
    return (await call(`${this.#url}/graphql`, { method: 'POST', key: this.#person.key, body })).json
  }
}

function onEach(name: string, use: (ann: Caller, ben: Caller) => Promise<void>): void {
  for (const setup of chosen([sqlite, postgres, postgresRowSecurity])) {
    test(`${name} (${setup.name})`, () =>
      withFixture(
        {},
        fixture => use(new Caller(fixture, fixture.ann), new Caller(fixture, fixture.ben)),
        declaration,
        setup,
      ))
  }
}

onEach('intervals touch, are open at null, and end after they start', async ann => {
  const room_id = (await ann.create('rooms', { name: 'A' })).id
  const book = (from: number | null, to: number | null, more = {}) =>
    ann.ask('POST', '/bookings', { ...hours(from, to), room_id, ...more })
  const noon = (await book(10, 12)).json.id
  assert.equal((await book(12, 14)).status, 201)
  assert.equal((await book(8, 10)).status, 201)
  for (const [from, to] of [
    [10, 12],
    [11, 12],
    [9, 20],
    [10, 11],
    [11, 13],
    [null, null],
    [null, 23],
    [1, null],
  ] as const)
    assert.equal((await book(from, to)).status, 409, `${from} to ${to}`)
  assert.deepEqual((await book(11, 12)).both, overlapsWith(noon))
  assert.equal((await book(null, 8)).status, 201)
  assert.equal((await book(null, 1)).status, 409)
  const last = (await book(20, null)).json.id
  assert.equal((await book(22, 23)).status, 409)
  assert.equal((await book(21, null)).status, 409)
  assert.equal((await book(14, 20)).status, 201)
  // The zone of a text does not matter.
  const zoned = { starts_at: '2026-05-01T23:30:00+02:00', ends_at: '2026-05-02T00:30:00+02:00' }
  assert.deepEqual((await ann.ask('POST', '/bookings', { ...zoned, room_id })).both, overlapsWith(last))
  const details = [{ field: 'ends_at', code: 'invalid', message: 'It must be after starts_at.' }]
  const message = 'The body does not fit the collection.'
  const reversed = [400, { error: { code: 'VALIDATION_FAILED', message, details } }]
  assert.deepEqual((await book(6, 5)).both, reversed)
  assert.deepEqual((await book(6, 6)).both, reversed)
  // Also where the item does not count.
  assert.deepEqual((await book(6, 5, { status: 'cancelled' })).both, reversed)
  assert.deepEqual((await book(6, 5, { room_id: null })).both, reversed)
  assert.deepEqual((await ann.ask('PATCH', `/bookings/${noon}`, { ends_at: at(10) })).both, reversed)
  // Items without a room, and cancelled ones, may overlap.
  for (const more of [{ room_id: null }, { status: 'cancelled' }])
    for (const _ of [1, 2]) assert.equal((await book(10, 12, more)).status, 201)
})

onEach(
  'a refusal names the other item only to callers who may read all that it depends on',
  async (ann, ben) => {
    const room_id = (await ann.create('rooms', { name: 'A' })).id
    const { id } = await ann.create('bookings', { ...hours(10, 12), room_id })
    const body = { ...hours(11, 13), room_id }
    assert.deepEqual((await ann.ask('POST', '/bookings', body)).both, overlapsWith(id))
    assert.deepEqual((await ben.ask('POST', '/bookings', body)).both, unnamed)
    const bens = await ben.create('bookings', { ...hours(13, 14), room_id })
    assert.deepEqual((await ben.ask('PATCH', `/bookings/${bens.id}`, { starts_at: at(9) })).both, unnamed)
    // Ben may read both leases, but not when they end.
    await ann.create('leases', { first: '2026-05-01', until: '2026-06-01' })
    // Nor does a fault tell it.
    const reversed = await ben.ask('POST', '/leases', { first: '2026-08-02', until: '2026-08-01' })
    assert.deepEqual(reversed.both, [409, { error: { code: 'CONFLICT', message: 'It is let.' } }])
    const let_ = await ben.ask('POST', '/leases', { first: '2026-05-31', until: '2026-07-01' })
    assert.deepEqual(let_.both, [409, { error: { code: 'CONFLICT', message: 'It is let.' } }])
    await ben.create('leases', { first: '2026-06-01', until: '2026-07-01' })
  },
)

onEach('numbers, integers and several limits', async ann => {
  await ann.create('shelves', { low: 0.5, high: 1.25, top: 1, bottom: 3 })
  const low = await ann.ask('POST', '/shelves', { low: 1.2, high: 1.3 })
  assert.equal(low.status, 409)
  assert.match(low.text, /No two shelves can overlap between low and high\./)
  await ann.create('shelves', { low: 1.25, high: 1.3, top: 1, bottom: 3 })
  const reversed = await ann.ask('POST', '/shelves', { low: 2, high: 3, top: 3, bottom: 3 })
  assert.equal(reversed.status, 400)
})

onEach('it holds for moves, changes of the condition, GraphQL, batches and `prepare`', async ann => {
  const room_id = (await ann.create('rooms', { name: 'A' })).id
  const other = (await ann.create('rooms', { name: 'B' })).id
  const { id } = await ann.create('bookings', { ...hours(10, 12), room_id })
  const moved = await ann.create('bookings', { ...hours(11, 13), room_id: other })
  const path = `/bookings/${moved.id}`
  assert.deepEqual((await ann.ask('PATCH', path, { room_id })).both, overlapsWith(id))
  assert.equal((await ann.ask('PUT', path, { ...hours(11, 13), room_id })).status, 409)
  const graphql = await ann.graphql(`mutation { updateBooking(id: ${moved.id}, roomId: ${room_id}) { id } }`)
  assert.match(
    JSON.stringify(graphql.errors),
    /CONFLICT.*It overlaps with item|It overlaps with item.*CONFLICT/,
  )
  assert.equal((await ann.ask('PATCH', path, { room_id, status: 'cancelled' })).status, 200)
  assert.deepEqual((await ann.ask('PATCH', path, { status: 'kept' })).both, overlapsWith(id))
  // An item does not overlap with itself.
  assert.equal((await ann.ask('PATCH', `/bookings/${id}`, hours(9, 11))).status, 200)
  assert.equal((await ann.ask('PATCH', path, { status: 'kept' })).status, 200)
  const prepared = await ann.ask('POST', '/bookings', { ...hours(13, 14), room_id, title: 'later' })
  assert.equal(prepared.status, 201, prepared.text)
  assert.equal((await ann.ask('POST', '/bookings', { ...hours(22, 23), room_id })).status, 409)
  // A batch that is undone leaves the time free.
  const create = (from: number, to: number) => ({
    method: 'POST',
    path: '/bookings',
    body: { ...hours(from, to), room_id },
  })
  const failed = await ann.ask('POST', '/batch', { operations: [create(1, 3), create(2, 4)] })
  assert.equal(failed.status, 409, failed.text)
  const batch = await ann.ask('POST', '/batch', {
    operations: [create(1, 3), { method: 'DELETE', path: `/bookings/${id}` }, create(9, 11)],
  })
  assert.equal(batch.status, 200, batch.text)
})

onEach('it holds for 1,000 items at once, and within actions', async ann => {
  const room_id = (await ann.create('rooms', { name: 'A' })).id
  const day = (n: number) => new Date(Date.UTC(2026, 0, n)).toISOString()
  const items = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ starts_at: day(n), ends_at: day(n + 1), room_id }))
  const half = { starts_at: '2026-01-09T12:00:00Z', ends_at: '2026-01-10T12:00:00Z', room_id }
  const refused = await ann.ask('POST', '/bookings', [...items(999), half])
  assert.equal(refused.status, 409, refused.text)
  const { json } = await ann.ask('GET', '/bookings')
  assert.deepEqual(json.data, [])
  const stored = await ann.ask('POST', '/bookings', items(1000))
  assert.equal(stored.status, 201, stored.text)
  const room = (await ann.create('rooms', { name: 'B' })).id
  const book = (list: string) => ann.ask('POST', '/actions/book', { hours: list, room })
  assert.equal((await book('1,2,3,3')).status, 409)
  assert.equal((await book('1,2,3')).status, 204)
  assert.equal((await book('4,3')).status, 409)
  assert.equal((await book('4')).status, 204)
})

onEach('it holds for items that a deletion changes', async ann => {
  const room_id = (await ann.create('rooms', { name: 'A' })).id
  const old = await ann.create('bookings', { ...hours(10, 12), room_id })
  const replacing = await ann.create('bookings', hours(1, 2))
  const replaced = await ann.ask('PATCH', `/bookings/${old.id}`, { replaced_by_id: replacing.id })
  assert.equal(replaced.status, 200, replaced.text)
  const next = await ann.create('bookings', { ...hours(11, 13), room_id })
  // The deletion would make the old booking count again.
  assert.deepEqual((await ann.ask('DELETE', `/bookings/${replacing.id}`)).both, unnamed)
  assert.equal((await ann.ask('DELETE', `/bookings/${next.id}`)).status, 204)
  assert.equal((await ann.ask('DELETE', `/bookings/${replacing.id}`)).status, 204)
  assert.equal((await ann.ask('POST', '/bookings', { ...hours(11, 13), room_id })).status, 409)
  // Without a room, nothing overlaps.
  assert.equal((await ann.ask('DELETE', `/rooms/${room_id}`)).status, 204)
  assert.equal((await ann.ask('PATCH', `/bookings/${old.id}`, hours(1, 20))).status, 200)
})
