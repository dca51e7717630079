/** `refuse` in actions and queries, over REST and GraphQL. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  action,
  collection,
  integer,
  item,
  model,
  query,
  refuse,
  related,
  relation,
  signedIn,
  text,
} from '../../../../src/index.ts'
import { testService } from '../../../../src/testing.ts'

const invoicing = model(
  {
    invoices: collection({
      fields: { number: integer(), sent: text({ optional: true }) },
      access: { read: signedIn, create: signedIn, update: signedIn },
    }),
    lines: collection({
      fields: { title: text(), invoice_id: relation('invoices', { inverse: 'lines' }) },
      access: { read: related('invoice', signedIn), create: signedIn },
    }),
  },
  {
    actions: {
      send: action({
        on: 'invoices',
        input: { to: text() },
        output: item('invoices'),
        access: signedIn,
        async run({ item: invoice, input, data }) {
          // A change before the refusal, which must be undone.
          const sent = await data.invoices.update(invoice.id, { sent: input.to })
          if (input.to === 'nobody') refuse('There is nobody to send it to.', { code: 'NOT_FOUND' })
          if (input.to === 'me') refuse('Invoices are not sent to oneself.', { code: 'FORBIDDEN' })
          if (!input.to.includes('@')) {
            refuse([
              { field: 'to', code: 'not_an_address', message: 'to must be an email address.' },
              { message: 'Nothing was sent.' },
            ])
          }
          const lines = await data.lines.first({ where: { invoice_id: invoice.id } })
          if (lines === null) refuse('An invoice without lines cannot be sent.')
          return sent
        },
      }),
      misuse: action({
        on: 'invoices',
        input: { how: text() },
        access: signedIn,
        async run({ input }) {
          if (input.how === 'code') refuse('No.', { code: 'RATE_LIMITED' as never })
          if (input.how === 'message') refuse('')
          if (input.how === 'value') refuse({ secret: 1 } as never)
          refuse([])
        },
      }),
    },
    queries: {
      next: query({
        input: { number: integer() },
        access: signedIn,
        run: async ({ input }) => refuse(`Nothing follows ${input.number}.`),
      }),
    },
  },
)

async function withInvoice() {
  const service = await testService(invoicing, { settings: { logLevel: 'fatal' } })
  const ann = await service.users.create({ name: 'Ann' })
  const { id } = await service.asSystem.invoices.create({ number: 1 })
  const send = (to: string) => service.request(`POST /api/v1/invoices/${id}/send`, { as: ann, body: { to } })
  return { service, ann, id, send }
}

describe('refuse', () => {
  test('undoes the action, and the response has its status and message', async () => {
    const { service, id, send } = await withInvoice()
    try {
      const refusals = []
      for (const to of ['a@example.com', 'nobody', 'me']) {
        const { status, body } = await send(to)
        refusals.push([status, body.error.code, body.error.message, body.error.details])
      }
      assert.deepEqual(refusals, [
        [409, 'CONFLICT', 'An invoice without lines cannot be sent.', undefined],
        [404, 'NOT_FOUND', 'There is nobody to send it to.', undefined],
        [403, 'FORBIDDEN', 'Invoices are not sent to oneself.', undefined],
      ])
      assert.equal((await service.asSystem.invoices.get(id))?.sent, null)
      await service.asSystem.lines.create({ title: 'Work', invoice_id: id })
      const sent = await send('a@example.com')
      assert.equal(sent.status, 200)
      assert.equal(sent.body.sent, 'a@example.com')
    } finally {
      await service.close()
    }
  })

  test('with a list of faults is VALIDATION_FAILED with all of them', async () => {
    const { service, send } = await withInvoice()
    try {
      const { status, body } = await send('ann')
      assert.equal(status, 400)
      assert.equal(body.error.code, 'VALIDATION_FAILED')
      assert.deepEqual(body.error.details, [
        { field: 'to', code: 'not_an_address', message: 'to must be an email address.' },
        { field: '', code: 'invalid', message: 'Nothing was sent.' },
      ])
    } finally {
      await service.close()
    }
  })

  test('is an error with its code and null data in GraphQL', async () => {
    const { service, ann, id } = await withInvoice()
    try {
      const ask = async (document: string) =>
        (await service.request('POST /graphql', { as: ann, body: { query: document } })).body
      const mutation = await ask(`mutation { send(id: ${id}, to: "a@example.com") { sent } }`)
      assert.equal(mutation.errors[0].message, 'An invoice without lines cannot be sent.')
      assert.equal(mutation.errors[0].extensions.code, 'CONFLICT')
      const read = await ask('{ next(number: 7) }')
      assert.equal(read.data.next, null)
      assert.equal(read.errors[0].message, 'Nothing follows 7.')
    } finally {
      await service.close()
    }
  })

  test('works in a query, and the OpenAPI document lists the status', async () => {
    const { service, ann } = await withInvoice()
    try {
      const { status, body } = await service.request('GET /api/v1/queries/next?number=7', { as: ann })
      assert.deepEqual([status, body.error.message], [409, 'Nothing follows 7.'])
      const document = (await service.request('GET /api/v1/openapi.json')).body
      const { responses } = document.paths['/api/v1/queries/next'].get
      const [, name] = /responses\/(.+)$/.exec(responses.default.$ref) ?? []
      assert.ok(document.components.responses[String(name)]['x-statuses'].includes(409))
    } finally {
      await service.close()
    }
  })

  for (const how of ['code', 'message', 'value', 'empty list']) {
    test(`with wrong arguments is a 500 without details: ${how}`, async () => {
      const { service, ann, id } = await withInvoice()
      try {
        const path = `POST /api/v1/invoices/${id}/misuse`
        const { status, body } = await service.request(path, { as: ann, body: { how } })
        assert.equal(status, 500)
        assert.equal(body.error.message, 'Something went wrong on our side.')
      } finally {
        await service.close()
      }
    })
  }
})
