/** The OpenAPI document has the routes that declare an input, as they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { anyone, checkModel, integer, role, route, text } from '../../../src/index.ts'
import { modelWith } from './fixture.ts'

const run = () => undefined

interface Described {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

const documentOf = (routes: Parameters<typeof modelWith>[0]) =>
  openapi(checkModel(modelWith(routes)), undefined) as unknown as Described

test('a route with an input is described with its parameters, body and callers', async () => {
  const document = documentOf({
    pay: route({
      path: 'orders/:order/pay',
      description: 'A partner pays an order.',
      input: { amount: integer({ min: 1 }), note: text({ optional: true }) },
      access: role('partner'),
      run,
    }),
    change: route({
      method: 'PUT',
      path: 'orders/:order/pay',
      input: { amount: integer({ default: 1 }) },
      access: anyone,
      run,
    }),
    raw: route({ access: anyone, run }),
    feed: route({ method: 'GET', path: '/feed', access: anyone, run }),
  })
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
  assert.ok(valid, JSON.stringify(errors))
  const own = Object.keys(document.paths).filter(path => !/^\/(api|account)\b/.test(path))
  assert.deepEqual(own, ['/hooks/orders/{order}/pay'])
  const { post, put, parameters } = document.paths['/hooks/orders/{order}/pay'] ?? {}
  assert.deepEqual(
    Object.values(parameters ?? {}).map(each => (each as { name: string }).name),
    ['order'],
  )
  assert.equal(post?.['operationId'], 'payRoute')
  assert.match(String(post?.['description']), /^A partner pays an order\. Who may: .*partner/)
  assert.deepEqual(
    [post?.['tags'], post?.['security'], put?.['security']],
    [['routes'], [{ bearer: [] }], [{}, { bearer: [] }]],
  )
  const required = [post, put].map(
    operation => (operation?.['requestBody'] as { required: boolean } | undefined)?.required,
  )
  assert.deepEqual(required, [true, false])
  const body = post?.['requestBody'] as { readonly content: object } | undefined
  assert.deepEqual(Object.keys(body?.content ?? {}), [
    'application/json',
    'application/x-www-form-urlencoded',
  ])
  const schema = document.components.schemas['PayRouteInput'] as { required: unknown; properties: object }
  assert.deepEqual([schema.required, Object.keys(schema.properties)], [['amount'], ['amount', 'note']])
  assert.ok(document.tags.some(({ name }) => name === 'routes'))
})

test('a model whose routes have no input has no tag for them', () => {
  const { tags } = documentOf({ raw: route({ access: anyone, run }) })
  assert.ok(!tags.some(({ name }) => name === 'routes'))
})
