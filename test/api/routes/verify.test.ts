/** Signatures of requests: those that the providers' own packages make are accepted, and nothing else. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { sign as signGithub } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { createVerify, SignatureRefused } from '../../../src/api/routes/verify.ts'
import type { Verify } from '../../../src/model/types/route.ts'

const nowMs = Date.UTC(2026, 10, 28)
const nowSeconds = nowMs / 1000
const body = '{"id":"evt_1","amount":1200,"note":"ä€"}'
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const otherSecret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

type Headers = Readonly<Record<string, string>>
type Call = (
  verify: Verify,
  request: Request,
  secrets: string | readonly string[],
  tolerance?: number,
) => void
interface Request {
  readonly bytes: Uint8Array
  readonly headers: Headers
}

interface Provider {
  readonly name: string
  readonly call: Call
  /** The headers of a body that was signed at a time, by the provider's package where it has one. */
  readonly sign: (body: string, secret: string, seconds: number) => Headers | Promise<Headers>
  /** The header that has the signature. */
  readonly header: string
  /** Whether the time is signed. */
  readonly isTimed: boolean
}

const timed = (secrets: string | readonly string[], tolerance?: number) => ({
  secret: secrets,
  ...(tolerance !== undefined && { toleranceSeconds: tolerance }),
})

const hmacOf = (algorithm: string, key: string, text: string | Buffer) =>
  createHmac(algorithm, key).update(text)

const stripe = new Stripe('sk_test_unused')

const providers: readonly Provider[] = [
  {
    name: 'Standard Webhooks',
    call: (verify, request, secrets, tolerance) => verify.standardWebhook(request, timed(secrets, tolerance)),
    sign: (text, key, seconds) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': new Webhook(key).sign('msg_1', new Date(seconds * 1000), text),
    }),
    header: 'webhook-signature',
    isTimed: true,
  },
  {
    name: 'Stripe',
    call: (verify, request, secrets, tolerance) => verify.stripe(request, timed(secrets, tolerance)),
    sign: (payload, key, timestamp) => ({
      'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload, secret: key, timestamp }),
    }),
    header: 'stripe-signature',
    isTimed: true,
  },
  {
    name: 'GitHub',
    call: (verify, request, secrets) => verify.github(request, { secret: secrets }),
    sign: async (text, key) => ({ 'x-hub-signature-256': await signGithub(key, text) }),
    header: 'x-hub-signature-256',
    isTimed: false,
  },
  {
    // https://shopify.dev/docs/apps/build/webhooks/subscribe/https
    name: 'Shopify',
    call: (verify, request, secrets) => verify.shopify(request, { secret: secrets }),
    sign: (text, key) => ({ 'x-shopify-hmac-sha256': hmacOf('sha256', key, text).digest('base64') }),
    header: 'x-shopify-hmac-sha256',
    isTimed: false,
  },
  {
    // https://docs.slack.dev/authentication/verifying-requests-from-slack
    name: 'Slack',
    call: (verify, request, secrets, tolerance) => verify.slack(request, timed(secrets, tolerance)),
    sign: (text, key, seconds) => ({
      'x-slack-request-timestamp': String(seconds),
      'x-slack-signature': `v0=${hmacOf('sha256', key, `v0:${seconds}:${text}`).digest('hex')}`,
    }),
    header: 'x-slack-signature',
    isTimed: true,
  },
  ...(['sha1', 'sha256', 'sha384', 'sha512'] as const).flatMap(algorithm =>
    (['hex', 'base64'] as const).map(
      (encoding): Provider => ({
        name: `HMAC with ${algorithm} in ${encoding}`,
        call: (verify, request, secrets) =>
          verify.hmac(request, { header: 'X-Signature', prefix: 'a=', algorithm, encoding, secret: secrets }),
        sign: (text, key) => ({ 'x-signature': `a=${hmacOf(algorithm, key, text).digest(encoding)}` }),
        header: 'x-signature',
        isTimed: false,
      }),
    ),
  ),
]

/** Whether the signature is accepted; other errors are thrown. */
function accepts(
  { call }: Provider,
  request: Request,
  secrets: string | readonly string[],
  tolerance?: number,
) {
  let verified = 0
  const verify = createVerify(
    () => nowMs,
    () => {
      verified++
    },
  )
  try {
    call(verify, request, secrets, tolerance)
    assert.equal(verified, 1)
    return true
  } catch (error) {
    if (!(error instanceof SignatureRefused)) throw error
    assert.equal(verified, 0)
    assert.equal(error.status, 401)
    assert.equal(error.message, 'The request is not signed as this path requires.')
    return false
  }
}

const requestOf = (headers: Headers, text: string | Uint8Array = body): Request => ({
  bytes: typeof text === 'string' ? Buffer.from(text) : text,
  headers,
})

for (const provider of providers) {
  const { name, sign, header, isTimed } = provider
  const signed = async (seconds = nowSeconds) => sign(body, secret, seconds)

  test(`${name}: what the provider signs is accepted, again and again`, async () => {
    const request = requestOf(await signed())
    assert.ok(accepts(provider, request, secret))
    assert.ok(accepts(provider, request, secret), 'a repetition is for `once` to tell')
    const blank = requestOf(await sign(' ', secret, nowSeconds), ' ')
    assert.ok(accepts(provider, blank, secret), 'a body that is not JSON')
  })

  test(`${name}: while a secret is replaced, either is accepted`, async () => {
    const request = requestOf(await signed())
    assert.ok(accepts(provider, request, [otherSecret, secret]))
    assert.ok(accepts(provider, request, [secret, otherSecret]))
    assert.ok(!accepts(provider, request, [otherSecret]))
  })

  test(`${name}: another body, secret or signature is refused`, async () => {
    const headers = await signed()
    const signature = headers[header] ?? ''
    const last = signature.at(-1) === '0' ? '1' : '0'
    assert.ok(!accepts(provider, requestOf(headers, body.slice(0, -1)), secret), 'a truncated body')
    assert.ok(!accepts(provider, requestOf(headers, `${body} `), secret), 'a longer body')
    assert.ok(!accepts(provider, requestOf(headers, ''), secret), 'no body')
    assert.ok(!accepts(provider, requestOf(await sign(body, otherSecret, nowSeconds)), secret), 'forged')
    const wrong = [
      '',
      signature.slice(0, -1),
      `${signature.slice(0, -5)}${last.repeat(5)}`,
      signature.slice(3),
      signature.slice(0, 12),
      'null',
      '=',
      ',',
      '\u00e4'.repeat(64),
      'a'.repeat(10_000),
    ]
    for (const text of wrong) {
      assert.ok(!accepts(provider, requestOf({ ...headers, [header]: text }), secret), text)
    }
    for (const missing of Object.keys(headers)) {
      const { [missing]: _, ...rest } = headers
      assert.ok(!accepts(provider, requestOf(rest), secret), `without ${missing}`)
    }
  })

  test(`${name}: bytes that are no UTF-8 are compared as they were sent`, async () => {
    // Both are the same text once it is decoded.
    const [sent, other] = [Buffer.from('{"a":"\xff"}', 'latin1'), Buffer.from('{"a":"\xfe"}', 'latin1')]
    const headers = await sign(sent.toString(), secret, nowSeconds)
    assert.ok(!accepts(provider, requestOf(headers, sent), secret), 'the decoded text was signed')
    if (name !== 'Shopify') return
    const signature = hmacOf('sha256', secret, sent).digest('base64')
    assert.ok(accepts(provider, requestOf({ [header]: signature }, sent), secret))
    assert.ok(!accepts(provider, requestOf({ [header]: signature }, other), secret))
  })

  test(`${name}: a secret that is missing is a mistake, and no key`, async () => {
    const unsigned = requestOf(await sign(body, otherSecret, nowSeconds))
    for (const none of [undefined, null, '', [], [''], [secret, ''], [undefined], 7]) {
      assert.throws(() => accepts(provider, unsigned, none as string), TypeError)
    }
  })

  if (!isTimed) continue
  test(`${name}: a late signature, or one from the future, is refused`, async () => {
    for (const [age, isAccepted] of [
      [300, true],
      [301, false],
      [-300, true],
      [-301, false],
    ] as const) {
      assert.equal(
        accepts(provider, requestOf(await signed(nowSeconds - age)), secret),
        isAccepted,
        `${age} s`,
      )
    }
    const late = requestOf(await signed(nowSeconds - 3600))
    assert.ok(accepts(provider, late, secret, 3600))
    assert.ok(!accepts(provider, late, secret, 3599))
    for (const tolerance of [0, -1, Number.NaN]) {
      assert.throws(() => accepts(provider, late, secret, tolerance), TypeError, `${tolerance}`)
    }
  })

  test(`${name}: another time than the signed one is refused`, async () => {
    const headers = await signed(nowSeconds - 10_000)
    for (const time of [
      String(nowSeconds),
      '',
      'now',
      '-1',
      `${nowSeconds}.0`,
      `0x${nowSeconds.toString(16)}`,
    ]) {
      const changed = Object.fromEntries(
        Object.entries(headers).map(([key, value]) => [
          key,
          value.replace(new RegExp(`^${nowSeconds - 10_000}$`), time).replace(/t=\d+/, `t=${time}`),
        ]),
      )
      assert.ok(!accepts(provider, requestOf(changed), secret), time)
    }
  })
}

test('one of several signatures is enough, wherever it stands; those of other schemes do not count', async () => {
  const [standard, stripe_] = providers
  assert.ok(standard && stripe_)
  const headers = await standard.sign(body, secret, nowSeconds)
  const other = (await standard.sign(body, otherSecret, nowSeconds))['webhook-signature']
  const own = headers['webhook-signature'] ?? ''
  for (const list of [`${own} ${other}`, `${other} ${own}`, `v1a,x ${own}`, `${own} v1,`]) {
    assert.ok(accepts(standard, requestOf({ ...headers, 'webhook-signature': list }), secret), list)
  }
  for (const list of [own.replace('v1,', 'v2,'), own.replace('v1,', 'v1a,'), own.replace('v1,', '')]) {
    assert.ok(!accepts(standard, requestOf({ ...headers, 'webhook-signature': list }), secret), list)
  }
  const [time = '', right = ''] = String(
    (await stripe_.sign(body, secret, nowSeconds))['stripe-signature'],
  ).split(',')
  for (const list of [`${time},v1=00,${right}`, `${right},${time}`, `${time},v0=00,${right},v1=`]) {
    assert.ok(accepts(stripe_, requestOf({ 'stripe-signature': list }), secret), list)
  }
  for (const list of [`${time},${right.replace('v1', 'v0')}`, right, time, `${time},${time}`]) {
    assert.ok(!accepts(stripe_, requestOf({ 'stripe-signature': list }), secret), list)
  }
})

test('options of hmac that do not fit are mistakes', () => {
  const verify = createVerify(
    () => nowMs,
    () => assert.fail(),
  )
  const request = requestOf({ 'x-signature': 'a' })
  const options = { header: 'X-Signature', algorithm: 'sha256', secret } as const
  for (const wrong of [
    { algorithm: 'md5' },
    { algorithm: undefined },
    { encoding: 'utf8' },
    { header: undefined },
  ]) {
    assert.throws(() => verify.hmac(request, { ...options, ...wrong } as never), TypeError)
  }
  assert.throws(() => verify.hmac({ text: body } as never, options), TypeError)
  assert.throws(() => verify.hmac(undefined as never, options), TypeError)
})
