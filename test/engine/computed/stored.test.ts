/** Stored values equal a recount after every kind of write, on every database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  anyone,
  choice,
  collection,
  count,
  field,
  index,
  integer,
  model,
  not,
  owner,
  relation,
  string,
  sum,
  users,
} from '../../../src/index.ts'
import type { TestService } from '../../../src/testing.ts'
import { cases } from '../../cases.ts'
import { chosen } from '../../chosen.ts'
import { serviceSetups } from '../../setups/databases/services.ts'

const published = { asSystem: true, stored: true } as const
const taken = not(field('status').in(['cancelled', 'late'])).and(not(field('note').eq('b')))
const seats = { min: -5, max: 1000 }

const declared = model({
  users: users({ computed: { seats: sum('bookings', 'seats', published) } }),
  sessions: collection({
    fields: {
      name: string(),
      updated: integer({ default: 0 }),
      parent_id: relation('sessions', { optional: true, inverse: 'parts', onDelete: 'cascade' }),
    },
    updatedAt: true,
    computed: {
      booked: count('bookings', { where: taken, ...published }),
      recounted: count('bookings', { where: taken, asSystem: true }),
      seats: sum('bookings', 'seats', { where: field('status').eq('open'), ...published }),
      resummed: sum('bookings', 'seats', { where: field('status').eq('open'), asSystem: true }),
      part_count: count('parts', published),
      recounted_parts: count('parts', { asSystem: true }),
    },
    indexes: [index('-booked'), index('name', 'seats')],
    access: { read: anyone, update: anyone },
  }),
  bookings: collection({
    fields: {
      status: choice(['open', 'cancelled', 'late'], { default: 'open' }),
      note: string({ optional: true }),
      seats: integer({ optional: true, ...seats }),
      session_id: relation('sessions', { optional: true, inverse: 'bookings', onDelete: 'cascade' }),
      user_id: relation('users', { optional: true, inverse: 'bookings', onDelete: 'clear' }),
    },
    access: { read: owner('user_id'), create: anyone, update: owner('user_id'), delete: owner('user_id') },
  }),
})

type Service = TestService<typeof declared>

const booking = fc.record(
  {
    status: fc.constantFrom('open', 'cancelled', 'late'),
    note: fc.constantFrom('a', 'b', null),
    seats: fc.option(fc.integer(seats)),
    session_id: fc.option(fc.integer({ min: 1, max: 4 }), { freq: 6 }),
    user_id: fc.option(fc.integer({ min: 1, max: 2 })),
  },
  { requiredKeys: [] },
)
const id = fc.integer({ min: 1, max: 12 })

const operation = fc.oneof(
  fc.record({ kind: fc.constant('create'), values: booking }),
  fc.record({ kind: fc.constant('update'), id, values: booking }),
  fc.record({ kind: fc.constant('delete'), id }),
  fc.record({ kind: fc.constant('bulk'), all: fc.array(booking, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constant('transaction'), id, values: booking, fails: fc.boolean() }),
  fc.record({ kind: fc.constant('batch'), id, values: booking }),
  fc.record({ kind: fc.constant('updateWhere'), values: booking }),
  fc.record({ kind: fc.constant('deleteSession'), id: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('deleteUser'), id: fc.integer({ min: 1, max: 2 }) }),
)

type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never
type Values = typeof booking extends fc.Arbitrary<infer Value> ? Value : never

/** The ids that the operations of one history mean by 1, 2 and so on. */
interface Ids {
  readonly admin: number
  readonly sessions: readonly number[]
  readonly users: readonly number[]
}

async function run({ asSystem: data, request }: Service, each: Operation, ids: Ids): Promise<void> {
  const values = (of: Values) => ({
    ...of,
    ...(of.session_id !== undefined && { session_id: ids.sessions[(of.session_id ?? 0) - 1] ?? null }),
    ...(of.user_id !== undefined && { user_id: ids.users[(of.user_id ?? 0) - 1] ?? null }),
  })
  const bookings = await data.bookings.list({ fields: ['id'], limit: 1000 })
  const bookingId = (at: number) => bookings[at % Math.max(1, bookings.length)]?.id ?? 999_999
  switch (each.kind) {
    case 'create':
      await data.bookings.create(values(each.values))
      return
    case 'update':
      await data.bookings.update(bookingId(each.id), values(each.values))
      return
    case 'delete':
      await data.bookings.delete(bookingId(each.id))
      return
    case 'bulk':
      await request('POST /api/v1/bookings', { as: ids.admin, body: each.all.map(values) })
      return
    case 'transaction':
      await data.transaction(async inner => {
        await inner.asSystem.bookings.create(values(each.values))
        await inner.asSystem.bookings.delete(bookingId(each.id))
        if (each.fails) throw new Error('undone')
      })
      return
    case 'batch': {
      const operations = [
        { method: 'POST', path: '/bookings', body: values(each.values) },
        { method: 'PATCH', path: `/sessions/${ids.sessions[0]}`, body: { name: 'x' } },
        { method: 'DELETE', path: `/bookings/${bookingId(each.id)}` },
      ]
      await request('POST /api/v1/batch', { as: ids.admin, body: { operations } })
      return
    }
    case 'updateWhere':
      await data.bookings.updateWhere({ status: 'open' }, values(each.values))
      return
    case 'deleteSession':
      await data.sessions.delete(ids.sessions[each.id - 1] ?? 0)
      return
    case 'deleteUser':
      await data.users.delete(ids.users[each.id - 1] ?? 0)
  }
}

/** Items and what they refer to may be gone, and a transaction may be undone on purpose. */
function requireExpected(error: Error & { readonly code?: string }): void {
  if (error.message !== 'undone' && !['NOT_FOUND', 'VALIDATION_FAILED'].includes(error.code ?? ''))
    throw error
}

/** Throws unless every stored value equals a recount. */
async function requireExact({ asSystem: data }: Service, history: string): Promise<void> {
  const fields = ['booked', 'recounted', 'seats', 'resummed', 'part_count', 'recounted_parts'] as const
  for (const item of await data.sessions.list({ fields: ['id', ...fields] })) {
    assert.deepEqual(
      [item.booked, item.seats, item.part_count],
      [item.recounted, item.resummed, item.recounted_parts],
      `${JSON.stringify(item)} after ${history}`,
    )
  }
  const bookings = await data.bookings.list({ limit: 1000 })
  for (const user of await data.users.list({ fields: ['id', 'seats'] })) {
    const own = bookings.filter(each => each.user_id === user.id)
    assert.equal(
      user.seats,
      own.reduce((total, each) => total + (each.seats ?? 0), 0),
    )
  }
}

for (const { name, within } of chosen(serviceSetups)) {
  test(`stored values are exact after every write (${name})`, () =>
    within(declared, async service => {
      const { id: admin } = await service.users.create({ name: 'Root', role: 'admin' })
      const { asSystem: data } = service
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 25 }), async operations => {
          await data.bookings.deleteWhere({ id: { gt: 0 } })
          for (const { id } of await data.sessions.list({ sort: ['id'] }))
            await data.sessions.delete(id).catch(requireExpected)
          const people = [await service.users.create(), await service.users.create()]
          const sessions: number[] = []
          for (const parent of [undefined, 0, 1, 0]) {
            const parent_id = parent === undefined ? null : (sessions[parent] ?? null)
            sessions.push((await data.sessions.create({ name: 'a', parent_id })).id)
          }
          const ids = { admin, sessions, users: people.map(({ id }) => id) }
          const outcomes = operations.map(each => each.kind)
          for (const each of operations) await run(service, each, ids).catch(requireExpected)
          await requireExact(service, outcomes.join())
        }),
        cases(60, 8),
      )
    }))
}

for (const { name, within } of chosen(serviceSetups)) {
  test(`an update of any field that decides a stored value changes it (${name})`, () =>
    within(declared, async service => {
      const { asSystem: data } = service
      const [one, two] = [
        await data.sessions.create({ name: 'a' }),
        await data.sessions.create({ name: 'b' }),
      ]
      const { id } = await data.bookings.create({ session_id: one.id, seats: 2 })
      const values = async () => {
        // An answer that the service may remember.
        const { body } = await service.request('GET /api/v1/sessions?fields=booked,seats&sort=id')
        return body.data.map((item: { booked: number; seats: number }) => [item.booked, item.seats])
      }
      assert.deepEqual(await values(), [
        [1, 2],
        [0, 0],
      ])
      await data.bookings.update(id, { seats: 5 })
      assert.deepEqual(await values(), [
        [1, 5],
        [0, 0],
      ])
      await data.bookings.update(id, { note: 'b' })
      assert.deepEqual(await values(), [
        [0, 5],
        [0, 0],
      ])
      await data.bookings.update(id, { note: null })
      assert.deepEqual(await values(), [
        [1, 5],
        [0, 0],
      ])
      await data.bookings.update(id, { session_id: two.id })
      assert.deepEqual(await values(), [
        [0, 0],
        [1, 5],
      ])
      await data.bookings.update(id, { status: 'late' })
      assert.deepEqual(await values(), [
        [0, 0],
        [0, 0],
      ])
      const before = await data.sessions.get(one.id)
      assert.equal(before?.updated_at, one.updated_at)
    }))
}
