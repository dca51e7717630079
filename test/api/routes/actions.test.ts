/** Routes call actions: as their caller, or as the service, on their own or as a part of a transaction. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { action, anyone, route, signedIn, string } from '../../../src/index.ts'
import type { ActionDeclaration } from '../../../src/model/logic/logic.ts'
import { code, type RoutesOptions, withRoutes } from './fixture.ts'

const write = action({
  input: { body: string() },
  output: { by: string() },
  access: signedIn,
  run: (async ({ input, data }: { input: { body: string }; data: { asSystem: Notes } }) => {
    await data.asSystem.notes.create({ body: input.body })
    if (input.body === 'wrong') throw new Error('not this')
    return { by: 'the action' }
  }) as never,
}) as ActionDeclaration
interface Notes {
  readonly notes: { create(values: object): Promise<unknown> }
}

const bodyOf = (text: string) => ({ body: JSON.parse(text).body })

const routes = {
  as_caller: route({
    access: anyone,
    run: code(async ({ request, actions }) => ({ body: await actions['write']?.(bodyOf(request.text)) })),
  }),
  as_service: route({
    access: anyone,
    run: code(async ({ request, actions }) => ({
      body: await actions.asSystem['write']?.(bodyOf(request.text)),
    })),
  }),
  once: route({
    access: anyone,
    run: code(({ request, once }) =>
      once('a key', async (_, { actions }) => {
        await actions.asSystem['write']?.({ body: 'first' })
        await actions.asSystem['write']?.(bodyOf(request.text))
      }).then(body => ({ body })),
    ),
  }),
}

test('a route calls an action as its caller, whose access counts, or as the service', () =>
  withRoutes(
    routes,
    async ({ call, key, notes }) => {
      const post = (path: string, body: string, sender?: string) =>
        call(path, { method: 'POST', body: { body }, ...(sender === undefined ? {} : { key: sender }) })
      const refused = await post('/hooks/as_caller', 'by nobody')
      assert.equal(refused.status, 401, refused.text)
      const asCaller = await post('/hooks/as_caller', 'by the administrator', key)
      assert.deepEqual(asCaller.json, { by: 'the action' })
      assert.equal((await post('/hooks/as_service', 'by the service')).status, 200)
      const wrongInput = await call('/hooks/as_service', { method: 'POST', body: { body: 7 } })
      assert.equal(wrongInput.status, 400, wrongInput.text)
      assert.deepEqual(await notes(), ['by the administrator', 'by the service'])
    },
    { actions: { write } },
  ))

test('an action in `once` of a route is a part of its transaction', () =>
  withRoutes(
    routes,
    async ({ call, notes }) => {
      const post = (body: string) => call('/hooks/once', { method: 'POST', body: { body } })
      assert.equal((await post('wrong')).status, 500)
      assert.deepEqual(await notes(), [])
      assert.deepEqual((await post('second')).json, { repeated: false })
      assert.deepEqual((await post('third')).json, { repeated: true })
      assert.deepEqual(await notes(), ['first', 'second'])
    },
    { actions: { write } },
  ))

/** The output of `inner`, called by `outer`. */
const through = {
  outer: action({
    scope: 'outer:note',
    output: { scopes: string() },
    access: signedIn,
    run: (({ actions }: { actions: Calls }) => actions.inner()) as never,
  }),
  outer_as_service: action({
    scope: 'outer:note',
    output: { scopes: string() },
    access: signedIn,
    run: (({ actions }: { actions: Calls }) => actions.asSystem.inner()) as never,
  }),
  inner: action({
    scope: 'pay:note',
    output: { scopes: string() },
    access: signedIn.or(anyone),
    run: (({ caller }: { caller: { scopes: unknown } | null }) => ({
      scopes: JSON.stringify(caller?.scopes ?? null),
    })) as never,
  }),
} as NonNullable<RoutesOptions['actions']>
interface Calls {
  inner(): Promise<unknown>
  readonly asSystem: Omit<Calls, 'asSystem'>
}

test('an action that an action calls as its caller needs its own scope, as over the network', () =>
  withRoutes(
    {},
    async ({ call, key }) => {
      const keyWith = async (scopes: readonly string[]) => {
        const created = await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'k', scopes } })
        assert.equal(created.status, 201, created.text)
        return String(created.json['key'])
      }
      const post = (name: string, sender: string) =>
        call(`/api/v1/actions/${name}`, { method: 'POST', key: sender, body: {} })
      const [narrow, wide] = [await keyWith(['outer:note']), await keyWith(['outer:note', 'pay:note'])]
      const refused = await post('outer', narrow)
      assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'], refused.text)
      assert.deepEqual((await post('outer', wide)).json, { scopes: '["outer:note","pay:note"]' })
      assert.deepEqual((await post('outer_as_service', narrow)).json, { scopes: 'null' })
    },
    { actions: through },
  ))
