/** Checks that read, over every transport, on every database: what they see, what they refuse, and what they may not do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  action,
  anyone,
  atMost,
  check,
  collection,
  field,
  integer,
  model,
  nobody,
  refuse,
  relation,
  signedIn,
  string,
} from '../../../src/index.ts'
import { chosen } from '../../chosen.ts'
import { type Fixture, withFixture } from '../../identity/conformance/server.ts'
import { call } from '../../server/serve/service.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

const writable = { create: signedIn, update: signedIn, delete: signedIn }

/** What the check of a title does, besides its own work. */
const misdeeds: Readonly<Record<string, (data: Data) => unknown>> = {
  'throw!': () => {
    throw new Error('the secret of the operator')
  },
  'timer!': () => sleep(1),
  'write!': data => data.bookings.create({ title: 'x', people: 1 }),
  'delete!': data => data.bookings.deleteWhere({}),
  'many!': data => Promise.all(Array.from({ length: 1001 }, () => data.rooms.count())),
  'nonsense!': data => data.bookings.list({ where: { nope: 1 } }),
  'unawaited!': data => void data.bookings.list({ where: { nope: 1 } }),
}

// biome-ignore lint/suspicious/noExplicitAny: the tests call it in forms that do not compile.
type Data = Record<string, any>

const declaration = model(
  {
    // Nobody may read what the check reads.
    rooms: collection({
      fields: { seats: integer({ optional: true }) },
      access: { ...writable, read: anyone },
    }),
    bookings: collection({
      fields: {
        title: string(),
        people: integer({ access: { read: nobody } }),
        room_id: relation('rooms', { inverse: 'bookings', optional: true, onDelete: 'clear' }),
      },
      access: { ...writable, read: anyone },
    }),
    others: collection({ fields: { n: integer() }, access: { ...writable, read: anyone } }),
    // Goes with its room.
    doors: collection({
      fields: { room_id: relation('rooms', { inverse: 'doors', onDelete: 'cascade' }) },
      access: { ...writable, read: anyone },
    }),
    keys: collection({
      fields: {
        room_id: relation('rooms', { inverse: 'keys', optional: true, onDelete: 'clear' }),
        door_id: relation('doors', { inverse: 'keys', optional: true, onDelete: 'cascade' }),
      },
      limits: [atMost(1, { where: field('room_id').eq(null) })],
      access: { ...writable, read: anyone },
    }),
    vaults: collection({
      fields: { room_id: relation('rooms', { inverse: 'vaults', optional: true, onDelete: 'clear' }) },
      access: { ...writable, read: nobody },
    }),
    secrets: collection({
      fields: { room_id: relation('rooms', { inverse: 'secrets', optional: true, onDelete: 'clear' }) },
      check: ({ next, previous }) =>
        previous !== undefined && next.room_id === null ? [{ field: 'room_id', message: 'It stays.' }] : [],
      access: { ...writable, read: nobody },
    }),
  },
  {
    checks: {
      vaults: check(async ({ next, previous, data }) => {
        const isLost = previous !== undefined && next.room_id === null
        return isLost && (await data.vaults.count()) > 0 ? [{ message: 'It stays.' }] : []
      }),
      bookings: check(async ({ next, previous, caller, data, now }) => {
        await misdeeds[next.title]?.(data as Data)
        if (next.title === 'what?') {
          const [rooms, bookings] = await Promise.all([data.rooms.count(), data.bookings.list()])
          const seen = {
            next,
            previous: previous ?? null,
            caller: caller?.role,
            rooms,
            ids: bookings.map(b => b.id),
          }
          return [{ message: JSON.stringify({ ...seen, now: typeof now }) }]
        }
        if (next.title === 'refuse!' && next.room_id === null) refuse('It keeps its room.')
        if (previous?.title === 'lonely' && next.room_id === null) {
          const left = [await data.doors.count(), await data.rooms.count({ id: previous.room_id ?? 0 })]
          return left.some(count => count > 0) ? [{ message: `There are ${left}.` }] : []
        }
        if (previous?.title === 'kept' && next.room_id === null)
          return [{ field: 'room_id', message: 'It keeps its room.' }]
        if (next.room_id === null) return
        const room = await data.rooms.get(next.room_id)
        let people = 0
        for await (const booking of data.bookings.all({ where: { room_id: next.room_id } }))
          people += booking.people
        return people > (room?.seats ?? 0) ? [{ field: 'people', message: 'Full.', code: 'full' }] : []
      }),
    },
    actions: {
      book: action({
        access: signedIn,
        input: { count: integer(), room: integer(), catches: integer({ default: 0 }) },
        output: { booked: integer() },
        async run({ input, data }) {
          const create = () => data.bookings.create({ title: 'x', people: 1, room_id: input.room })
          const all = Array.from({ length: input.count }, create)
          if (!input.catches) await Promise.all(all)
          const outcomes = await Promise.allSettled(all)
          const { status } = outcomes.at(-1) ?? {}
          return { booked: status === undefined ? 0 : await data.bookings.count({ room_id: input.room }) }
        },
      }),
    },
  },
)

type Json = Readonly<Record<string, unknown>>

class Caller {
  readonly #fixture: Fixture
  constructor(fixture: Fixture) {
    this.#fixture = fixture
  }

  async ask(method: string, path: string, body?: unknown, node = 0, headers = {}) {
    const { urls, ann } = this.#fixture
    const answer = await call(`${urls[node % urls.length]}${path}`, { method, key: ann.key, body, headers })
    return { ...answer, both: [answer.status, answer.json] as const }
  }

  /** What an administrator learns about a request of Ann's. */
  async explain(method: string, path: string, body?: unknown) {
    const { url, admin, ann } = this.#fixture
    const request = { as: ann.id, method, path, ...(body !== undefined && { body }) }
    const answer = await call(`${url}/api/v1/explain`, { method: 'POST', key: admin.key, body: request })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }

  async create(path: string, body: unknown): Promise<Json> {
    const answer = await this.ask('POST', `/api/v1/${path}`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.json
  }

  async count(): Promise<number> {
    const { json } = await this.ask('GET', '/api/v1/bookings/aggregate?count')
    return Number(JSON.stringify(json).match(/"count":(\d+)/)?.[1] ?? Number.NaN)
  }
}

/** No bound of time is reached on a slow machine. */
const patient = { 'logic.limits': { action: '60 s', code: '2 min' }, databaseTimeout: '4 min' } as const

function onEach(name: string, use: (ann: Caller) => Promise<void>): void {
  for (const setup of chosen([sqlite, postgres, postgresRowSecurity]))
    test(`${name} (${setup.name})`, () =>
      withFixture(patient, fixture => use(new Caller(fixture)), declaration, setup))
}

const bookings = '/api/v1/bookings'
const details = [{ field: 'people', code: 'full', message: 'Full.' }]

onEach('a check reads in the transaction of its write, over every transport', async ann => {
  const room_id = (await ann.create('rooms', { seats: 5 })).id
  const book = (people: number) => ann.ask('POST', bookings, { title: 'x', people, room_id })
  const { id } = (await book(3)).json
  assert.equal((await book(2)).status, 201)
  const refused = await book(1)
  assert.equal(refused.status, 400, refused.text)
  assert.deepEqual((refused.json.error as Json).details, details)
  const path = `${bookings}/${id}`
  assert.equal((await ann.ask('PATCH', path, { people: 4 })).status, 400)
  assert.equal((await ann.ask('PUT', path, { title: 'x', people: 4, room_id })).status, 400)
  assert.equal((await ann.ask('PATCH', path, { title: 'renamed' })).status, 200)
  assert.equal((await ann.ask('PATCH', path, { people: 2 })).status, 200)
  const graphql = (query: string) => ann.ask('POST', '/graphql', { query })
  const create = (people: number) => `createBooking(title: "x", people: ${people}, roomId: ${room_id}) { id }`
  assert.match((await graphql(`mutation { ${create(2)} }`)).text, /VALIDATION_FAILED/)
  const atomic = await graphql(`mutation @atomic { a: ${create(1)} b: ${create(1)} }`)
  assert.match(atomic.text, /VALIDATION_FAILED/)
  const one = { title: 'x', people: 1, room_id }
  assert.equal((await ann.ask('POST', bookings, [one, one])).status, 400)
  const bulk = await ann.ask('POST', bookings, [{ ...one, room_id: null }, one])
  assert.equal(bulk.status, 201, bulk.text)
  const operation = (body: Json) => ({ method: 'POST', path: '/bookings', body })
  const batch = (...operations: readonly object[]) => ann.ask('POST', '/api/v1/batch', { operations })
  const undone = await batch(operation({ ...one, room_id: null }), operation(one))
  assert.equal(undone.status, 400, undone.text)
  const free = { method: 'PATCH', path: `/bookings/${id}`, body: { people: 1 } }
  const other = { method: 'POST', path: '/others', body: { n: 1 } }
  const done = await batch(other, free, operation(one))
  assert.equal(done.status, 200, done.text)
  assert.equal(await ann.count(), 5)
})

onEach(
  'a check runs for writes that are repeated safely, and for those that are only explained',
  async ann => {
    const room_id = (await ann.create('rooms', { seats: 2 })).id
    const keyed = (people: number) =>
      ann.ask('POST', bookings, { title: 'x', people, room_id }, 0, { 'Idempotency-Key': `key-${people}` })
    const first = await keyed(1)
    assert.equal(first.status, 201, first.text)
    assert.deepEqual((await keyed(1)).both, first.both)
    assert.equal((await keyed(2)).status, 400)
    assert.equal(await ann.count(), 1)
    const explained = (people: number) => ann.explain('POST', '/bookings', { title: 'x', people, room_id })
    const allowed = await explained(1)
    assert.deepEqual([allowed.allowed, allowed.status], [true, 201])
    const refused = await explained(2)
    assert.deepEqual([refused.allowed, refused.status, refused.code], [false, 400, 'VALIDATION_FAILED'])
    assert.equal(await ann.count(), 1)
    const room = await ann.explain('DELETE', `/rooms/${room_id}`)
    assert.deepEqual([room.allowed, room.status], [true, 204])
  },
)

onEach('a check sees the item as written, all others, and who writes', async ann => {
  const room = (await ann.create('rooms', { seats: 5 })).id
  const { id } = await ann.create('bookings', { title: 'x', people: 1, room_id: room })
  const seen = async (method: string, path: string, body: unknown) => {
    const { json } = await ann.ask(method, path, body)
    const [fault] = (json.error as { details: readonly { message: string }[] }).details
    return JSON.parse(fault?.message ?? '')
  }
  const created = await seen('POST', bookings, { title: 'what?', people: 2 })
  assert.equal(typeof created.next.id, 'number')
  assert.deepEqual([created.next.people, created.previous, created.caller], [2, null, 'user'])
  assert.deepEqual([created.rooms, created.ids], [1, [id, created.next.id]])
  const changed = await seen('PATCH', `${bookings}/${id}`, { title: 'what?' })
  assert.deepEqual([changed.previous.title, changed.next.title, changed.next.people], ['x', 'what?', 1])
  assert.deepEqual([changed.ids, changed.now], [[id], 'string'])
})

onEach('1,000 items at once are checked one after the other', async ann => {
  const room_id = (await ann.create('rooms', { seats: 2 })).id
  const items = Array.from({ length: 1000 }, (_, n) => ({
    title: 'x',
    people: 1,
    room_id: n % 400 === 0 ? room_id : null,
  }))
  assert.equal((await ann.ask('POST', bookings, items)).status, 400)
  assert.equal(await ann.count(), 0)
  const fitting = await ann.ask('POST', bookings, items.with(0, { title: 'x', people: 1, room_id: null }))
  assert.equal(fitting.status, 201, fitting.text)
  assert.equal(await ann.count(), 1000)
})

onEach('the writes of an action run one after the other, each with its check', async ann => {
  const room = (await ann.create('rooms', { seats: 3 })).id
  const book = (count: number, catches = 0) =>
    ann.ask('POST', '/api/v1/actions/book', { count, room, catches })
  assert.equal((await book(4)).status, 400)
  assert.equal(await ann.count(), 0)
  assert.deepEqual((await book(2)).both, [200, { booked: 2 }])
  // The function goes on after those that were refused, which alone are undone.
  assert.deepEqual((await book(4, 1)).both, [200, { booked: 3 }])
  assert.equal(await ann.count(), 3)
})

onEach('a check runs where a deletion clears a reference, without its faults', async ann => {
  const room_id = (await ann.create('rooms', { seats: 3 })).id
  const { id } = await ann.create('bookings', { title: 'refuse!', people: 1, room_id })
  const message = 'Items of bookings may not lose what they refer to by room_id.'
  const refused = await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)
  assert.deepEqual(refused.both, [409, { error: { code: 'CONFLICT', message } }])
  assert.equal((await ann.ask('PATCH', `${bookings}/${id}`, { title: 'kept' })).status, 200)
  const kept = await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)
  assert.deepEqual(kept.both, [409, { error: { code: 'CONFLICT', message } }])
  assert.equal((await ann.ask('PATCH', `${bookings}/${id}`, { title: 'x' })).status, 200)
  assert.equal((await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)).status, 204)
  assert.equal((await ann.ask('GET', `${bookings}/${id}`)).json.room_id, null)
})

onEach(
  'the check and the limits of an item that loses a reference see the rows as the deletion leaves them',
  async ann => {
    const room_id = (await ann.create('rooms', { seats: 3 })).id
    const other = (await ann.create('rooms', { seats: 3 })).id
    const { id } = await ann.create('bookings', { title: 'lonely', people: 1, room_id })
    const door_id = (await ann.create('doors', { room_id })).id
    const spare = (await ann.create('doors', { room_id: other })).id
    // The one key without a room goes with the door: another key may lose its room.
    await ann.create('keys', { door_id })
    const key = await ann.create('keys', { room_id })
    const refused = await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)
    assert.equal(refused.status, 409, refused.text)
    assert.equal((await ann.ask('GET', `/api/v1/doors/${door_id}`)).status, 200)
    assert.equal((await ann.ask('GET', `${bookings}/${id}`)).json.room_id, room_id)
    assert.equal((await ann.ask('DELETE', `/api/v1/doors/${spare}`)).status, 204)
    const deleted = await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)
    assert.equal(deleted.status, 204, deleted.text)
    assert.equal((await ann.ask('GET', `${bookings}/${id}`)).json.room_id, null)
    assert.equal((await ann.ask('GET', `/api/v1/keys/${key.id}`)).json.room_id, null)
    // A second key without a room is one too many, and undoes the deletion.
    await ann.create('keys', { room_id: other })
    assert.equal((await ann.ask('DELETE', `/api/v1/rooms/${other}`)).status, 409)
    assert.equal((await ann.ask('GET', `/api/v1/rooms/${other}`)).status, 200)
  },
)

onEach('a refusal to lose a reference does not name a collection that the caller may not read', async ann => {
  for (const hidden of ['secrets', 'vaults']) {
    const room_id = (await ann.create('rooms', { seats: 3 })).id
    assert.equal((await ann.ask('POST', `/api/v1/${hidden}`, { room_id })).status, 201)
    const refused = await ann.ask('DELETE', `/api/v1/rooms/${room_id}`)
    const message = 'Other items still refer to this one.'
    assert.deepEqual(refused.both, [409, { error: { code: 'CONFLICT', message } }])
  }
})

onEach('a check that does something else than read refuses its write alone', async ann => {
  for (const title of Object.keys(misdeeds)) {
    const answer = await ann.ask('POST', bookings, { title, people: 1 })
    const expected = title === 'many!' ? 400 : 500
    assert.equal(answer.status, expected, `${title}: ${answer.text}`)
    assert.doesNotMatch(answer.text, /secret/)
    const both = await Promise.all([
      ann.ask('POST', bookings, { title, people: 1 }),
      ann.ask('POST', '/api/v1/others', { n: 1 }),
      ann.ask('POST', bookings, { title: 'x', people: 1 }),
    ])
    assert.deepEqual(
      both.map(({ status }) => status),
      [expected, 201, 201],
      title,
    )
  }
  assert.equal(await ann.count(), Object.keys(misdeeds).length)
})

onEach('concurrent writers never exceed what a check allows', async ann => {
  const seats = 7
  const room_id = (await ann.create('rooms', { seats })).id
  const body = { title: 'x', people: 1, room_id }
  const answers = await Promise.all(
    Array.from({ length: 32 }, async (_, n) => {
      // A conflict that outlasts the tries is told to the client, who repeats the request.
      for (;;) {
        const { status } = await ann.ask('POST', bookings, body, n)
        if (status !== 409 && status !== 503) return status
      }
    }),
  )
  assert.equal(answers.filter(status => status === 201).length, seats)
  assert.equal(answers.filter(status => status === 400).length, 32 - seats)
  assert.equal(await ann.count(), seats)
})
