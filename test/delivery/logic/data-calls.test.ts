/** Calls of `data`: `fields: ['*', …]`, and the place of a mistake in the code. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collection, count, integer, model, relation, signedIn, string } from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'
import { is } from '../../model/type-equality.ts'

const access = { read: signedIn, create: signedIn }
const declaration = model({
  invoices: collection({ fields: { number: string() }, computed: { size: count('lines') }, access }),
  lines: collection({
    fields: { amount: integer(), invoice_id: relation('invoices', { inverse: 'lines' }) },
    access,
  }),
})

test('`*` in `fields` stands for all fields that are not computed', async () => {
  const { asSystem: data, close } = await testService(declaration)
  const { id } = await data.invoices.create({ number: '1' })
  await data.lines.create({ amount: 7, invoice_id: id })
  const invoice = await data.invoices.get(id, { fields: ['*', 'size'], include: ['lines'] })
  assert.ok(invoice)
  is<string>()(invoice.number)
  is<number>()(invoice.size)
  assert.deepEqual(Object.keys(invoice), ['id', 'number', 'created_at', 'size', 'lines'])
  assert.deepEqual([invoice.size, invoice.lines.map(({ amount }) => amount)], [1, [7]])
  assert.deepEqual(await data.invoices.list({ fields: ['*'] }), await data.invoices.list())
  await close()
})

test('the stack of a wrong name reaches the line that made the call', async () => {
  const { asSystem, close } = await testService(declaration)
  // biome-ignore lint/suspicious/noExplicitAny: wrong names do not compile.
  const data = asSystem as any
  const calls = {
    fields: () => data.invoices.get(1, { fields: ['nope'] }),
    include: () => data.invoices.list({ include: ['lines.nope'] }),
    sort: () => data.invoices.first({ sort: ['-nope'] }),
    where: () => data.invoices.count({ or: [{ lines: { not: { nope: 1 } } }] }),
    all: () =>
      data.invoices
        .all({ where: { nope: 1 } })
        [Symbol.asyncIterator]()
        .next(),
  }
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().then(
      () => assert.fail(name),
      (thrown: Error) => thrown,
    )
    assert.match(error.message, /nope/, name)
    assert.match(String(error.stack), /data-calls\.test\.ts:\d+/, `${name}: ${error.stack}`)
  }
  await close()
})
