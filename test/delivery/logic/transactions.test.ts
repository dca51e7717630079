/** `data.transaction` in reactions, jobs and programs: all of it takes effect, once and in a serial order, or none of it. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { service as system } from '../../../src/base/principal.ts'
import { createData, executeBy } from '../../../src/engine/logic/data/create-data.ts'
import { defaultOperationLimits } from '../../../src/engine/logic/operations/call.ts'
import {
  action,
  anyone,
  collection,
  integer,
  job,
  model,
  on,
  owner,
  relation,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import { chosen } from '../../chosen.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, handler, within } from './fixture.ts'

async function bodies({ model: checked, run }: Fixture): Promise<readonly unknown[]> {
  const data = createData(
    { model: checked, hooks: new Map(), execute: executeBy(run, defaultOperationLimits) },
    system,
  )
  return ((await data['notes']?.list()) ?? []).map(({ body }) => body)
}

for (const kind of chosen(databaseKinds)) {
  describe(`transactions on ${kind.name}`, () => {
    it('concurrent ones that read a number and write the next one count exactly', async () => {
      const counted = on(
        'task.created',
        handler(async ({ data }) => {
          await data.transaction(async inner => {
            const note = await inner['notes']?.first()
            const next = Number(note?.['body']) + 1
            await inner['notes']?.update(Number(note?.id), { body: String(next) })
          })
        }),
      )
      await within(kind, { reactions: { counted } }, async fixture => {
        const { task, runner, client } = fixture
        await client.create('notes', { body: '0' })
        for (let n = 0; n < 20; n++) await task(`task ${n}`)
        await runner().settled()
        assert.deepEqual(await bodies(fixture), ['20'])
      })()
    })

    it('code that throws changes nothing, and starts no job', async () => {
      const attempts: number[] = []
      const started: unknown[] = []
      const failing = on(
        'task.created',
        handler(async ({ data, attempt, now }) => {
          attempts.push(attempt)
          const failure = new Error('on purpose')
          const call = data.transaction(async (inner, { later }) => {
            await inner['notes']?.create({ body: `attempt ${attempt}` })
            await later(now, 'echo', {})
            if (attempt === 1) throw failure
            return 'returned'
          })
          if (attempt === 1) {
            await assert.rejects(call, error => error === failure)
            throw failure
          }
          assert.equal(await call, 'returned')
        }),
      )
      const echo = job({ run: handler(() => started.push(attempts.length)) })
      await within(kind, { reactions: { failing }, jobs: { echo } }, async fixture => {
        const { task, runner, until } = fixture
        await task('first')
        runner()
        await until(() => started.length > 0, 'the job of the second attempt has run', 1000)
        assert.deepEqual(await bodies(fixture), ['attempt 2'])
        assert.deepEqual(started, [2])
      })()
    })

    it('after the time limit of its run, a transaction has no effect', async () => {
      const outcome = Promise.withResolvers<void>()
      const slow = on(
        'task.created',
        handler(async ({ data, attempt }) => {
          if (attempt > 1) return outcome.resolve()
          await data.transaction(async inner => {
            await inner['notes']?.create({ body: 'late' })
            // The time of the run passes meanwhile.
            await advance(61_000)
          })
        }),
      )
      let advance: (ms: number) => Promise<void> | void = () => undefined
      await within(kind, { reactions: { slow } }, async fixture => {
        const { task, runner, clock, until } = fixture
        advance = ms => void clock.jump(ms)
        await task('first')
        runner()
        let isOver = false
        void outcome.promise.then(() => {
          isOver = true
        })
        await until(() => isOver, 'the next attempt has run', 1000)
        assert.deepEqual(await bodies(fixture), [])
      })()
    })
  })
}

/** Uses the `data` of an action that has ended. */
let leaked: () => Promise<unknown> = async () => undefined
/** What the job has read after its transaction. */
let lengthAfterwards = 0

const declared = model(
  {
    users: users({}),
    accounts: collection({
      fields: {
        name: string(),
        cents: integer({ default: 0 }),
        owner_id: relation('users', { inverse: 'accounts' }),
      },
      access: { read: anyone, create: anyone, update: owner('owner_id') },
      check: ({ next }) => (next.cents < 0 ? [{ field: 'cents', message: 'There is too little.' }] : []),
    }),
  },
  {
    actions: {
      close: action({
        on: 'accounts',
        access: anyone,
        emits: { 'account.closed': { fields: {} } },
        async run({ item, data }) {
          leaked = () => data.accounts.get(item.id)
          const failing = data.transaction(async inner => {
            await inner.asSystem.accounts.update(item.id, { cents: 0 })
            throw new Error('not today')
          })
          await failing.catch(() => undefined)
        },
      }),
    },
    jobs: {
      pay: job({
        input: { from: integer(), to: integer(), cents: integer() },
        run: async ({ input, data, later, now }) => {
          await data.transaction(async inner => {
            const from = await inner.accounts.get(input.from)
            const to = await inner.accounts.get(input.to)
            if (!from || !to) throw new Error('There is no such account.')
            await inner.accounts.update(to.id, { cents: to.cents + input.cents })
            await inner.accounts.update(from.id, { cents: from.cents - input.cents })
            await assert.rejects(data.accounts.list(), /`data.transaction` is open/)
            assert.throws(() => later(now, 'pay', input), /`data.transaction` is open/)
          })
          lengthAfterwards = (await data.accounts.list()).length
        },
      }),
    },
  },
)

async function withAccounts(use: (service: TestService<typeof declared>, ids: number[]) => Promise<void>) {
  const service = await testService(declared)
  try {
    const ada = await service.users.create({ name: 'Ada' })
    const ids: number[] = []
    for (const name of ['a', 'b'])
      ids.push((await service.asSystem.accounts.create({ name, cents: 100, owner_id: ada.id })).id)
    await use(service, [...ids, ada.id])
  } finally {
    await service.close()
  }
}

const balances = async ({ asSystem }: TestService<typeof declared>) =>
  (await asSystem.accounts.list({ sort: ['id'] })).map(({ cents }) => cents)

test('a fault of the second write undoes the first, and reaches the code', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    const { asSystem } = service
    const pay = (cents: number) =>
      asSystem.transaction(async data => {
        await data.accounts.update(b, { cents: 100 + cents })
        await data.accounts.update(a, { cents: 100 - cents })
        return cents
      })
    await assert.rejects(pay(101), { code: 'VALIDATION_FAILED' })
    assert.deepEqual(await balances(service), [100, 100])
    assert.equal(await pay(30), 30)
    assert.deepEqual(await balances(service), [70, 130])
  }))

test('code may catch the fault of a call, and go on', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    await service.asSystem.transaction(async data => {
      await data.accounts.update(b, { cents: 1 })
      await assert.rejects(data.accounts.update(a, { cents: -1 }), { code: 'VALIDATION_FAILED' })
    })
    assert.deepEqual(await balances(service), [100, 1])
  }))

test('the tools of a job refuse to work while its transaction is open', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    await service.asSystem.transaction((_, { later }) =>
      later(service.clock.now(), 'pay', { from: a, to: b, cents: 10 }),
    )
    await service.settled()
    assert.deepEqual(await balances(service), [90, 110])
    assert.equal(lengthAfterwards, 2, 'afterwards, they work again')
  }))

test('a transaction within another is a part of it', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    const { asSystem } = service
    const outer = asSystem.transaction(async data => {
      await data.transaction(inner => inner.accounts.update(b, { cents: 150 }))
      assert.equal((await data.accounts.get(b))?.cents, 150)
      throw new Error('all of it')
    })
    await assert.rejects(outer, { message: 'all of it' })
    assert.deepEqual(await balances(service), [100, 100])
    assert.equal((await asSystem.accounts.get(a))?.cents, 100)
  }))

test('a part that fails undoes all of it, although the code around it catches that', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    const { asSystem } = service
    const outer = asSystem.transaction(async data => {
      const part = data.transaction(async inner => {
        await inner.accounts.update(b, { cents: 150 })
        throw new Error('the part')
      })
      await part.catch(() => undefined)
      await data.accounts.update(a, { cents: 50 })
    })
    await assert.rejects(outer, { message: 'the part' })
    const { status } = await service.request(`POST /api/v1/accounts/${a}/close`)
    assert.equal(status, 500)
    assert.deepEqual(await balances(service), [100, 100])
  }))

test('what leaks out of a transaction refuses to work', () =>
  withAccounts(async (service, [a = 0]) => {
    const { asSystem } = service
    const rows = await asSystem.transaction(data => data.accounts.all())
    const read = async () => {
      for await (const row of rows) assert.fail(`it reads ${row.id}`)
    }
    await assert.rejects(read(), /The transaction of service\.data has ended/)
    const later = await asSystem.transaction((_, effects) => effects.later)
    await assert.rejects(
      async () => later(service.clock.now(), 'pay', { from: a, to: a, cents: 1 }),
      /has ended/,
    )
    await service.request(`POST /api/v1/accounts/${a}/close`)
    await assert.rejects(leaked(), /The transaction of actions\.close has ended/)
  }))

test('the data of the program refuses to work within its transaction', () =>
  withAccounts(async (service, [a = 0, b = 0]) => {
    const { asSystem } = service
    await asSystem.transaction(async data => {
      await data.accounts.update(a, { cents: 1 })
      await assert.rejects(asSystem.accounts.update(b, { cents: 2 }), /`data\.transaction` is open/)
      await assert.rejects(
        asSystem.transaction(() => undefined),
        /`data\.transaction` is open/,
      )
      await data.accounts.update(b, { cents: 3 })
    })
    assert.deepEqual(await balances(service), [1, 3])
  }))

test('an event of a declared type is logged with the transaction', () =>
  withAccounts(async (service, [a = 0]) => {
    const { asSystem } = service
    const failing = asSystem.transaction((_, { emit }) => {
      emit('account.closed', { id: a })
      throw new Error('undone')
    })
    await assert.rejects(failing, { message: 'undone' })
    await asSystem.transaction((_, { emit }) => emit('account.closed', { id: a }))
    const { text } = await service.request('GET /api/v1/events?after=0&types=account.closed', { as: 1 })
    const events = JSON.parse(text).data as readonly { readonly item_id: number }[]
    assert.deepEqual(
      events.map(({ item_id }) => item_id),
      [a],
    )
  }))

test('code that waits for something else is undone, with an error that says so', () =>
  withAccounts(async (service, [a = 0]) => {
    const waiting = service.asSystem.transaction(async data => {
      await data.accounts.update(a, { cents: 1 })
      await new Promise(resolve => setTimeout(resolve, 1))
    })
    await assert.rejects(waiting, /service\.data waits for something other than `data`/)
    assert.deepEqual(await balances(service), [100, 100])
  }))

test('an event that no action declares is refused', () =>
  withAccounts(async (service, [a = 0]) => {
    const emitting = service.asSystem.transaction((_, { emit }) => emit('account.opened', { id: a }))
    await assert.rejects(emitting, /account\.opened/)
  }))

test('a collection may not be called transaction', () => {
  assert.throws(
    () => checkModel(model({ transaction: collection({ fields: { name: string() } }) })),
    /`data\.transaction` is a transaction/,
  )
})
