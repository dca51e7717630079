/** Actions called by jobs, reactions, programs, transactions and other actions. */
import assert from 'node:assert/strict'
import { after, before, describe, it, test } from 'node:test'
import {
  action,
  anyone,
  collection,
  integer,
  item,
  job,
  model,
  on,
  owner,
  refuse,
  relation,
  signedIn,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Item, ProgramActions, ProgramData } from '../../../src/model/types/types.ts'
import type { TestService } from '../../../src/testing.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { is } from '../../model/type-equality.ts'
import { serviceOn } from './service-on.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
/** What code has seen, by place. */
const seen: unknown[] = []

const declared = model(
  {
    users: users({}),
    shows: collection({
      fields: {
        name: string(),
        seats: integer(),
        owner_id: relation('users', { optional: true, inverse: 'shows' }),
      },
      access: { ...access, read: owner('owner_id').or(signedIn) },
    }),
    bookings: collection({
      fields: { who: string(), show_id: relation('shows', { inverse: 'bookings' }) },
      access,
    }),
  },
  {
    actions: {
      book: action({
        on: 'shows',
        input: { who: string(), count: integer({ default: 1, min: 1 }) },
        output: { show: item('shows'), left: integer() },
        access: anyone,
        emits: { 'show.booked': { fields: { who: string() } } },
        async run({ item: show, input, data, emit, caller }) {
          seen.push(['book', caller?.id ?? null])
          const updated = await data.asSystem.shows.update(show.id, {
            seats: { increment: -input.count, min: 0 },
          })
          await data.bookings.create({ who: input.who, show_id: show.id })
          emit('show.booked', show, { who: input.who })
          return { show, left: updated.seats }
        },
      }),
      mine: action({
        on: 'shows',
        access: owner('owner_id'),
        output: item('shows'),
        run: ({ item: show, caller, data }) => data.shows.update(show.id, { name: `of ${caller.id}` }),
      }),
      fail: action({
        of: 'bookings',
        input: { text: string() },
        access: anyone,
        async run({ data, input }) {
          await data.bookings.deleteWhere({})
          if (input.text === 'refuse') refuse('Not now.')
          throw new Error(input.text)
        },
      }),
      reset: action({ output: { n: integer() }, run: () => ({ n: 1 }) }),
      deep: action({
        access: anyone,
        input: { left: integer() },
        output: { reached: integer() },
        // An action of the same part is known at run time only.
        run: async ({ input, actions }) =>
          input.left === 0 ? { reached: 0 } : actions.deep({ left: input.left - 1 }),
      }),
    },
    reactions: {
      booked: on('show.booked', ({ event }) => void seen.push(['booked', event.values])),
    },
  },
  {
    actions: {
      book_twice: action({
        on: 'shows',
        input: { catches: string({ default: 'no' }) },
        output: { left: integer() },
        access: signedIn,
        async run({ item: show, input, actions, data }) {
          await actions.book(show.id, { who: 'first' })
          const second = actions.book(show.id, { who: 'second', count: 2 })
          if (input.catches === 'yes') return second.catch(() => ({ left: -1 }))
          const { left } = await second
          assert.equal(await data.bookings.count({ show_id: show.id }), 2)
          return { left }
        },
      }),
      careful: action({
        on: 'shows',
        access: anyone,
        async run({ item: show, actions, data }) {
          // Refused before it has begun: it may go on.
          await assert.rejects(actions.book(show.id, { who: 'x', count: 0 }), { code: 'VALIDATION_FAILED' })
          await data.bookings.create({ who: 'careful', show_id: show.id })
        },
      }),
    },
    jobs: {
      sell: job({
        input: { show: integer(), mode: string() },
        run: async ({ input, actions, data, emit }) => {
          if (input.mode === 'single') {
            const { left, show } = await actions.book(input.show, { who: 'job' })
            seen.push(['job', left, show.name])
            assert.throws(() => (actions as unknown as { boo(): Promise<unknown> }).boo(), {
              message: /no action `boo`. Did you mean `book`/,
            })
            await emit('show.booked', { id: input.show }, { who: 'by hand' })
            await assert.rejects(emit('show.lost', { id: input.show }), /does not declare the event/)
            return
          }
          const failed = data.transaction(async (inner, effects) => {
            await effects.actions.book(input.show, { who: 'inner' })
            assert.equal(await inner.bookings.count({ who: 'inner' }), 1)
            await assert.rejects(actions.book(input.show, { who: 'outer' }), /`data.transaction` is open/)
            throw new Error('undone')
          })
          await assert.rejects(failed, /undone/)
        },
      }),
    },
  },
)

type Declared = typeof declared

for (const kind of databaseKinds) {
  describe(`calls of actions on ${kind.name}`, () => {
    let service: TestService<Declared>
    let close: () => Promise<void>
    before(async () => {
      const shared = await serviceOn(kind, declared)
      service = shared.service
      close = shared.close
    })
    after(() => close())

    const newShow = (seats: number, owner_id: number | null = null) =>
      service.asSystem.shows.create({ name: 'Hamlet', seats, owner_id })
    const seatsOf = async (id: number) => (await service.asSystem.shows.get(id))?.seats
    const as = (id: number) =>
      (service.actions as unknown as { as(id: number): ProgramActions<Declared> }).as(id)

    it('a program calls actions as the service, or as a user', async () => {
      const ada = await service.users.create({})
      const show = await newShow(3, ada.id)
      seen.length = 0
      const booked = await service.actions.book(show.id, { who: 'program' })
      is<{ readonly show: Item<Declared, 'shows'>; readonly left: number }>()(booked)
      assert.deepEqual([booked.left, booked.show.seats, booked.show.id], [2, 2, show.id])
      await as(ada.id).book(show.id, { who: 'Ada' })
      assert.deepEqual(seen, [
        ['book', null],
        ['book', ada.id],
      ])
      assert.equal((await as(ada.id).mine(show.id)).name, `of ${ada.id}`)
      const ben = await service.users.create({})
      await assert.rejects(as(ben.id).mine(show.id), { code: 'FORBIDDEN' })
      // Administrators only.
      await assert.rejects(as(ben.id).reset(), { code: 'FORBIDDEN' })
      assert.deepEqual(await service.actions.reset(), { n: 1 })
      await assert.rejects(service.actions.mine(show.id), /`caller` is a user by its `access`/)
      await assert.rejects(as(987_654).mine(show.id), { code: 'NOT_FOUND' })
      await assert.rejects(service.actions.book(0, { who: 'x' }), { code: 'BAD_REQUEST' })
      await assert.rejects(service.actions.book(987_654, { who: 'x' }), { code: 'NOT_FOUND' })
      await assert.rejects(service.actions.book(show.id, {} as never), { code: 'VALIDATION_FAILED' })
      await assert.rejects(service.actions.book(show.id, { who: 'x', count: 2 }), { code: 'CONFLICT' })
      assert.equal(await seatsOf(show.id), 1)
    })

    it('a call rejects with what the action throws, and has changed nothing', async () => {
      const show = await newShow(3)
      await service.asSystem.bookings.create({ who: 'kept', show_id: show.id })
      await assert.rejects(service.actions.fail({ text: 'for a reason' }), {
        name: 'Error',
        message: 'for a reason',
      })
      await assert.rejects(service.actions.fail({ text: 'refuse' }), {
        code: 'CONFLICT',
        message: 'Not now.',
      })
      assert.equal(await service.asSystem.bookings.count({ who: 'kept' }), 1)
    })

    it('an action is a part of the one that calls it, which fails with it', async () => {
      const ada = await service.users.create({})
      const show = await newShow(4)
      const client = service.as(ada).shows
      assert.deepEqual(await client.book_twice(show.id), { left: 1 })
      await assert.rejects(client.book_twice(show.id), { code: 'CONFLICT' })
      // What is caught fails the whole nevertheless: its parts cannot be undone alone.
      await assert.rejects(client.book_twice(show.id, { catches: 'yes' }), { code: 'CONFLICT' })
      assert.equal(await seatsOf(show.id), 1)
      assert.equal(await service.asSystem.bookings.count({ show_id: show.id }), 2)
      await client.careful(show.id)
      assert.equal(await service.asSystem.bookings.count({ who: 'careful' }), 1)
    })

    it('actions call each other at most ten deep', async () => {
      assert.deepEqual(await service.actions.deep({ left: 10 }), { reached: 0 })
      await assert.rejects(service.actions.deep({ left: 11 }), /more than 10 deep/)
    })

    it('a job calls actions, emits events, and has actions in its transactions', async () => {
      await service.settled()
      const show = await newShow(3)
      seen.length = 0
      const start = (mode: string) =>
        service.asSystem.transaction(async (_, { later }) => {
          later('2020-01-01T00:00:00Z', 'sell', { show: show.id, mode })
        })
      await start('single')
      await service.settled()
      // A reaction may run before the job has ended.
      const byPlace = Object.groupBy(seen as [string, ...unknown[]][], ([place]) => place)
      assert.deepEqual(
        { ...byPlace },
        {
          book: [['book', null]],
          job: [['job', 2, 'Hamlet']],
          booked: [
            ['booked', { who: 'job' }],
            ['booked', { who: 'by hand' }],
          ],
        },
      )
      await start('transaction')
      await service.settled()
      assert.equal(await seatsOf(show.id), 2)
      assert.equal(await service.asSystem.bookings.count({ who: { in: ['inner', 'outer'] } }), 0)
    })

    it('a transaction of a program calls actions as the user whose it is', async () => {
      const ada = await service.users.create({})
      const [mine, other] = [await newShow(1, ada.id), await newShow(1)]
      const data = (service.asSystem as unknown as { as(id: number): ProgramData<Declared> }).as(ada.id)
      const both = data.transaction(async (_, { actions }) => {
        await actions.mine(mine.id)
        await actions.mine(other.id)
      })
      await assert.rejects(both, { code: 'FORBIDDEN' })
      assert.equal((await service.asSystem.shows.get(mine.id))?.name, 'Hamlet')
    })
  })
}

test('an action that a program could not call is refused', () => {
  for (const name of ['as', 'asSystem']) {
    const declared = model({ users: users({}) }, { actions: { [name]: action({ run: () => {} }) } })
    const fault = `actions.${name}: \`actions.${name}\` is the actions as somebody else.`
    assert.throws(
      () => checkModel(declared),
      ({ message }: Error) => message.includes(fault),
    )
  }
})
