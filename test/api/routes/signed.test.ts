/** Routes with signatures: what strangers learn, whose budget they use, and what a route that forgets to verify does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Stripe from 'stripe'
import { anyone, integer, route, signedIn } from '../../../src/index.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { code, type LooseContext, withRoutes } from './fixture.ts'

const secret = 'whsec_of_this_test'
const stripe = new Stripe('sk_test_unused')

/** The headers of an event that Stripe signs now, or some time ago. */
function signed(payload: string, key = secret, ageSeconds = 0): Readonly<Record<string, string>> {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret: key, timestamp })
  return { 'Stripe-Signature': header, 'Content-Type': 'application/json' }
}

const payment = (id: string) => JSON.stringify({ id, type: 'payment_intent.succeeded' })

/** Stores a note for each event, once. */
const pay = async ({ request, verify, once }: LooseContext) => {
  verify.stripe(request, { secret })
  const { id } = JSON.parse(request.text)
  const { repeated } = await once(`stripe/${id}`, data => data.asSystem['notes']?.create({ body: id }))
  return { body: { repeated } }
}

test('a signed event takes effect once, however often it is delivered', () =>
  withRoutes({ stripe: route({ access: anyone, run: code(pay) }) }, async ({ send, notes }) => {
    const event = payment('evt_1')
    const deliveries = Array.from({ length: 10 }, () => send('/hooks/stripe', event, signed(event)))
    const answers = await Promise.all(deliveries)
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(10).fill(200),
    )
    assert.equal(answers.filter(({ json }) => json['repeated'] === false).length, 1)
    const other = payment('evt_2')
    assert.deepEqual((await send('/hooks/stripe', other, signed(other))).json, { repeated: false })
    assert.deepEqual(await notes(), ['evt_1', 'evt_2'])
  }))

test('a stranger gets the same plain 401 for every reason, which only the log has', () =>
  withRoutes({ stripe: route({ access: anyone, run: code(pay) }) }, async ({ send, notes, log }) => {
    const event = payment('evt_1')
    const rows: readonly (readonly [
      body: string,
      headers: Readonly<Record<string, string>>,
      reason: RegExp,
    ])[] = [
      [event, {}, /header stripe-signature is missing/],
      [event, signed(event, 'whsec_another'), /No signature is that of a secret/],
      [event, signed(event, secret, 301), /30[12] s in the past/],
      [event, signed(event, secret, -400), /s in the future/],
      [event.slice(0, -1), signed(event), /No signature/],
      [`${event} `, signed(event), /No signature/],
    ]
    const texts = new Set<string>()
    for (const [body, headers, reason] of rows) {
      const answer = await send('/hooks/stripe', body, headers)
      assert.equal(answer.status, 401)
      texts.add(answer.text)
      const line = log.findLast(({ msg }) => msg === 'the signature of a request was refused')
      assert.match(String(line?.['reason']), reason)
      assert.deepEqual([line?.['level'], line?.['route']], [20, 'stripe'])
    }
    assert.deepEqual(
      [...texts],
      ['{"error":{"code":"UNAUTHORIZED","message":"The request is not signed as this path requires."}}'],
    )
    assert.deepEqual(await notes(), [])
  }))

test('without a secret, a route fails: an empty key would accept everybody', () =>
  withRoutes(
    {
      unset: route({
        access: anyone,
        run: code(({ request, verify }) =>
          verify.github(request, { secret: String(process.env['NOT_SET'] ?? '') }),
        ),
      }),
    },
    async ({ send }) => assert.equal((await send('/hooks/unset', '{}', {})).status, 500),
  ))

const forgetful = {
  forgets: route({ access: anyone, run: code(({ verify }) => ({ body: typeof verify.stripe })) }),
  early: route({
    access: anyone,
    run: code(({ request, verify }) => {
      if (request.query.has('ping')) return { body: 'pong' }
      verify.stripe(request, { secret })
      return {}
    }),
  }),
  catches: route({
    access: anyone,
    run: code(({ request, verify }) => {
      try {
        verify.stripe(request, { secret })
      } catch {
        return { status: 400, body: 'no' }
      }
      return {}
    }),
  }),
  without: route({ access: anyone, run: () => ({ body: 'fine' }) }),
}

for (const isDevelopment of [false, true]) {
  test(`a route that answers before it has verified is an error ${isDevelopment ? 'in development' : 'in the log'}`, () =>
    withRoutes(
      forgetful,
      async ({ send, log }) => {
        const mistakes = () =>
          log.filter(({ msg, level }) => level === 50 && /before it has verified/.test(String(msg)))
        for (const path of ['forgets', 'early?ping']) {
          const before = mistakes().length
          const answer = await send(`/hooks/${path}`, '', {})
          assert.equal(answer.status, isDevelopment ? 500 : 200, path)
          assert.equal(mistakes().length, before + 1)
        }
        const before = mistakes().length
        assert.equal((await send('/hooks/early', '', signed(''))).status, 204)
        assert.equal((await send('/hooks/early', '', {})).status, 401)
        assert.equal((await send('/hooks/catches', '', {})).status, 400)
        assert.equal((await send('/hooks/without', '', {})).status, 200)
        assert.equal(mistakes().length, before)
      },
      { isDevelopment },
    ))
}

const limited = { access: anyone, rateLimit: { requests: 5 } } as const

test('a route has one limit for all its callers, which draws from no other', () =>
  withRoutes(
    {
      own: route({ ...limited, run: () => undefined }),
      other: route({ access: anyone, run: () => undefined }),
    },
    async ({ send, call, key }) => {
      await earlyInMinute()
      const remaining = async () =>
        Number((await call('/api/v1/notes', { key })).headers.get('x-ratelimit-remaining'))
      const before = await remaining()
      for (let n = 0; n < 5; n++) {
        const headers: Record<string, string> = n % 2 === 0 ? {} : { 'X-API-Key': key }
        assert.equal((await send('/hooks/own', '', headers)).status, 204)
      }
      const refused = await send('/hooks/own', '', {})
      assert.equal(refused.code, 'RATE_LIMITED')
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal((await send('/hooks/own', '', { 'X-API-Key': key })).status, 429)
      for (let n = 0; n < 20; n++) assert.equal((await send('/hooks/other', '', {})).status, 204)
      assert.equal(await remaining(), before - 1)
    },
    { settings: { rateLimit: { user: 100, address: 3 } } },
  ))

test('requests that are refused use up the budget of their sender, not that of the route', () =>
  withRoutes(
    {
      stripe: route({ ...limited, run: code(pay) }),
      users: route({ ...limited, access: signedIn, run: () => undefined }),
      input: route({ ...limited, input: { n: integer() }, run: () => undefined }),
      parses: route({
        ...limited,
        run: code(({ request, verify }) => {
          JSON.parse(request.text)
          verify.stripe(request, { secret })
        }),
      }),
      catches: {
        ...forgetful.catches,
        options: { ...forgetful.catches.options, rateLimit: { requests: 5 } },
      },
    },
    async ({ send, key }) => {
      await earlyInMinute()
      const event = payment('evt_1')
      const statuses: number[] = []
      for (let n = 0; n < 4; n++) {
        statuses.push((await send('/hooks/stripe', event, { 'X-Forwarded-For': '192.0.2.1' })).status)
      }
      for (let n = 0; n < 4; n++) {
        statuses.push((await send('/hooks/users', '', { 'X-Forwarded-For': '192.0.2.2' })).status)
      }
      for (let n = 0; n < 7; n++) {
        statuses.push((await send('/hooks/catches', '', { 'X-Forwarded-For': '192.0.2.3' })).status)
      }
      for (const [path, host] of [
        ['input', 4],
        ['parses', 5],
      ]) {
        for (let n = 0; n < 7; n++) {
          const sender = { 'X-Forwarded-For': `192.0.2.${host}`, 'Content-Type': 'application/json' }
          statuses.push((await send(`/hooks/${path}`, 'nonsense', sender)).status)
        }
      }
      const until3 = [401, 401, 401, 429]
      const refused = [429, 429, 429, 429]
      assert.deepEqual(statuses, [
        ...[...until3, ...until3, 400, 400, 400, ...refused],
        ...[400, 400, 400, ...refused, 500, 500, 500, ...refused],
      ])
      for (let n = 0; n < 5; n++) {
        assert.equal((await send('/hooks/stripe', event, signed(event))).status, 200)
        assert.equal((await send('/hooks/users', '', { 'X-API-Key': key })).status, 204)
        assert.equal((await send('/hooks/parses', event, signed(event))).status, 204)
      }
      assert.equal((await send('/hooks/stripe', event, signed(event))).status, 429)
    },
    { settings: { rateLimit: { user: 100, address: 3 }, trustProxy: 1 } },
  ))

test('a body that is too large counts against its sender', () =>
  withRoutes(
    { own: route({ ...limited, run: () => undefined }) },
    async ({ send }) => {
      await earlyInMinute()
      const statuses: number[] = []
      for (let n = 0; n < 5; n++) {
        const sender = { 'X-Forwarded-For': '192.0.2.1' }
        statuses.push((await send('/hooks/own', 'x'.repeat(1025), sender)).status)
      }
      assert.deepEqual(statuses, [413, 413, 413, 429, 429])
      for (let n = 0; n < 5; n++) assert.equal((await send('/hooks/own', '', {})).status, 204)
    },
    { settings: { rateLimit: { user: 100, address: 3 }, trustProxy: 1, bodyLimit: '1 KiB' } },
  ))

test('no limit of a route applies where limits are off', () =>
  withRoutes(
    { own: route({ ...limited, run: () => undefined }) },
    async ({ send }) => {
      for (let n = 0; n < 20; n++) assert.equal((await send('/hooks/own', '', {})).status, 204)
    },
    { settings: { rateLimit: 'off' } },
  ))
