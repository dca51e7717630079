/** The types of routes and of `once`. Most of this file is checked by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  boolean,
  checkModel,
  choice,
  collection,
  integer,
  job,
  model,
  on,
  owner,
  relation,
  role,
  route,
  signedIn,
  text,
} from '../../src/index.ts'
import type { LogicCaller, LogicUser } from '../../src/model/logic/logic.ts'
import { is } from './type-equality.ts'

const collections = {
  orders: collection({
    fields: {
      amount: integer(),
      state: choice(['open', 'paid'], { default: 'open' }),
      owner_id: relation('users', { inverse: 'orders' }),
    },
    access: { read: owner('owner_id') },
  }),
}

const declaration = model(
  collections,
  {
    jobs: {
      remind: job({
        input: { order: integer() },
        run: async ({ input, once }) => {
          const result = await once(async (data, { later, emit }) => {
            const order = await data.orders.get(input.order)
            if (order) is<'open' | 'paid'>()(order.state)
            later(new Date(), 'remind', { order: input.order })
            emit('order.reminded', { id: 1 })
          })
          is<boolean>()(result.repeated)
          await once(`remind/${input.order}`, data => data.orders.update(input.order, { state: 'paid' }))
          // @ts-expect-error Not one of the values.
          await once('key', data => data.orders.update(1, { state: 'lost' }))
          // @ts-expect-error A key is a text.
          await once(7, data => data.orders.list())
        },
      }),
    },
    reactions: {
      paid: on('order.updated', async ({ event, once }) => {
        await once(data => data.asSystem.orders.delete(event.item_id))
      }),
    },
  },
  {
    routes: {
      pay: route({
        path: 'orders/:order/pay/:step',
        input: { amount: integer(), quick: boolean({ default: false }), note: text({ optional: true }) },
        access: anyone,
        async run({ request, input, caller, data, once, verify, later, mail, fetch, log, now, signal }) {
          is<{ readonly order: string; readonly step: string }>()(request.params)
          is<{ readonly amount: number; readonly quick: boolean; readonly note: string | null }>()(input)
          is<LogicCaller | null>()(caller)
          is<string>()(request.text)
          is<string | null>()(request.query.get('x'))
          is<void>()(verify.stripe(request, { secret: ['a', 'b'], toleranceSeconds: 60 }))
          // @ts-expect-error There is no such parameter.
          request.params.other
          // @ts-expect-error A time is not signed.
          verify.github(request, { secret: 'a', toleranceSeconds: 60 })
          // @ts-expect-error The algorithm is missing.
          verify.hmac(request, { header: 'x', secret: 'a' })
          const { repeated } = await once('key', async (inner, effects) => {
            effects.later(now, 'remind', { order: 1 })
            // @ts-expect-error Unknown job.
            effects.later(now, 'forget')
            const order = await inner.asSystem.orders.update(1, { state: 'paid' })
            is<number>()(order.amount)
          })
          // @ts-expect-error A route has no key of its own.
          await once(inner => inner.orders.list())
          later(now, 'remind', { order: 1 })
          // @ts-expect-error The input is missing.
          later(now, 'remind')
          await mail.send({ to: 'a@example.com', subject: 'a', text: 'b' })
          is<Response>()(await fetch('https://example.com', { method: 'POST' }))
          log.info('a line')
          is<boolean>()(signal.aborted)
          const seen = await data.orders.list({ where: { state: 'paid' } })
          is<number | undefined>()(seen[0]?.amount)
          // @ts-expect-error There is no such field.
          await data.orders.list({ where: { paid: true } })
          return { status: 201, headers: { 'X-A': ['1', '2'] }, body: { repeated } }
        },
      }),
      mine: route({
        method: 'GET',
        access: signedIn.and(role('admin')),
        run({ caller, request }) {
          is<LogicUser>()(caller)
          // @ts-expect-error The path has no parameters.
          request.params.id
          return { body: new Uint8Array() }
        },
      }),
      // @ts-expect-error `access` is missing.
      open: route({ run: () => undefined }),
      // @ts-expect-error The rule is about an item.
      rows: route({ access: owner('owner_id'), run: () => undefined }),
      // @ts-expect-error There is no such method.
      head: route({ method: 'HEAD', access: anyone, run: () => undefined }),
      // @ts-expect-error A number is no body.
      number: route({ access: anyone, run: () => ({ body: 7 }) }),
      // @ts-expect-error A status is a number.
      status: route({ access: anyone, run: () => ({ status: '200' }) }),
      // @ts-expect-error An answer has no such member.
      text: route({ access: anyone, run: () => 'text' }),
    },
  },
)

test('the compiler has checked the routes; the model check refuses the wrong ones too', () => {
  assert.throws(() => checkModel(declaration), /routes\.open\.access/)
})

test('outside a model, a route knows no names', () => {
  const free = route({
    path: ':id',
    access: anyone,
    run: async ({ request, data }) => ({ body: [request.params.id, await data['anything']?.list()] }),
  })
  assert.deepEqual(Object.keys(model(collections, { routes: { free } }).logic.routes ?? {}), ['free'])
})
