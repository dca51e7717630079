/** Reactions to events that actions emit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { action, collection, integer, json, model, on, signedIn, string } from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'
import { is } from '../../model/type-equality.ts'

test('a reaction to an emitted event gets its values and the typed item; for changes, values is null', async () => {
  const values: unknown[] = []
  const declaration = model(
    { invoices: collection({ fields: { number: string() }, access: { read: signedIn, create: signedIn } }) },
    {
      actions: {
        send: action({
          on: 'invoices',
          access: signedIn,
          emits: { 'invoice.sent': { fields: { total: integer(), parts: json() } } },
          run: ({ item, emit }) => emit('invoice.sent', item, { total: 7, parts: [1] }),
        }),
      },
      reactions: {
        sent: on('invoice.sent', ({ event }) => {
          is<string>()(event.data.number)
          is<null>()(event.changed)
          values.push([event.type, event.data.number, event.values])
        }),
        created: on('invoice.created', ({ event }) => {
          is<null>()(event.values)
          values.push([event.type, event.values])
        }),
      },
    },
  )
  const service = await testService(declaration)
  const api = service.as(await service.users.create({}))
  const { id } = await api.invoices.create({ number: '2026-1' })
  await service.settled()
  await api.invoices.send(id)
  await service.settled()
  assert.deepEqual(values, [
    ['invoice.created', null],
    ['invoice.sent', '2026-1', { total: 7, parts: [1] }],
  ])
  await service.close()
})
