/** Items that the service alone creates, with required fields that no client can set. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  anyone,
  collection,
  integer,
  item,
  model,
  nobody,
  owner,
  relation,
  signedIn,
  string,
  users,
} from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'

const shop = model(
  {
    users: users({ fields: { email: { access: { read: owner('id') } } } }),
    orders: collection({
      fields: {
        title: string({ access: { write: nobody } }),
        price: integer({ readOnly: true }),
        user_id: relation('users', { inverse: 'orders' }),
      },
      access: { read: anyone, create: nobody, update: owner('user_id') },
    }),
  },
  {
    actions: {
      order: action({
        of: 'orders',
        input: { price: integer({ optional: true }) },
        output: item('orders'),
        access: signedIn,
        async run({ input: { price }, caller, data }) {
          const values = { title: 'Tea', user_id: caller?.id ?? 0 }
          return data.asSystem.orders.create(price === null ? values : { ...values, price })
        },
      }),
    },
  },
)

test('an action creates them, and a value that it leaves out is a fault with the field', async () => {
  const service = await testService(shop)
  try {
    const { id } = await service.users.create({ name: 'Ada', email: 'ada@example.com' })
    const ada = service.as(id)
    const order = await ada.orders.order({ price: 300 })
    assert.deepEqual([order.title, order.price], ['Tea', 300])
    await assert.rejects(ada.orders.order({}), {
      code: 'VALIDATION_FAILED',
      details: [{ field: 'price', code: 'required', message: 'price is required.' }],
    })
    await assert.rejects(ada.orders.update(order.id, { price: 1 } as never), { code: 'VALIDATION_FAILED' })
    const { body } = await service.request('GET /api/v1/openapi.json')
    assert.equal(body.paths['/api/v1/orders'].post, undefined)
    assert.ok(body.components.schemas.Order.required.includes('price'))
  } finally {
    await service.close()
  }
})

test('the service reads fields and related items that nobody else sees', async () => {
  const service = await testService(shop)
  try {
    const { id: user_id } = await service.users.create({ name: 'Ada', email: 'ada@example.com' })
    const { id } = await service.asSystem.orders.create({ title: 'Tea', price: 300, user_id })
    const order = await service.asSystem.orders.get(id, { include: ['user'] })
    assert.equal(order?.user.email, 'ada@example.com')
    const seen = await service.as(await service.users.create({})).users.get(user_id)
    assert.equal(seen?.email, null)
  } finally {
    await service.close()
  }
})
