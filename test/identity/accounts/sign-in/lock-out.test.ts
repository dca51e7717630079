/** Failed attempts by strangers do not lock the owner out of an account; and the guesses that many addresses allow. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { memoryCounters } from '../../../../src/engine/cluster/memory-counters.ts'
import { type AccountBase, createAccountBase } from '../../../../src/identity/accounts/accounts.ts'
import { requestReset, reset } from '../../../../src/identity/accounts/recovery/reset.ts'
import { secretsIn } from '../../../../src/identity/accounts/sign-in/known-devices.ts'
import {
  confirmPassword,
  signInByCode,
  signInByPassword,
} from '../../../../src/identity/accounts/sign-in/sign-in.ts'
import { createThrottle, signInAllowances } from '../../../../src/identity/accounts/sign-in/throttle.ts'
import { signUp } from '../../../../src/identity/accounts/sign-up/sign-up.ts'
import { type Browser, type Form, formsOf, type Page } from '../../conformance/browser.ts'
import { withFixture as withService } from '../../conformance/server.ts'
import { type Fixture, minuteMs, withFixture } from '../fixture.ts'
import { formWithField, open, page } from '../mail-fixture.ts'

const email = 'ada@example.com'
const password = 'correct horse battery'

const attempt = (address: string, tried: string, secrets: readonly string[] = []) => ({
  email,
  password: tried,
  remember: false,
  address,
  secrets,
})

/** Uses up an account’s attempts of one hour with wrong passwords from many addresses. */
async function flood({ base }: Fixture, name = email): Promise<void> {
  const { attempts } = base
  for (let count = 0; count < 100; count++) await attempts.take(`sign-in:${name}`, `203.0.113.${count % 13}`)
}

test('after a hundred wrong passwords from thirteen addresses, the owner can sign in from a new address at once', async () => {
  await withFixture({}, async fixture => {
    const { base, user } = fixture
    await user(email, password)
    await flood(fixture)
    const kindFrom = async (address: string, tried = password) =>
      (await signInByPassword(base, attempt(address, tried))).kind
    assert.equal(await kindFrom('198.51.100.7'), 'authenticated')
    assert.equal(await kindFrom('198.51.100.8', 'a slip'), 'wrong')
    assert.equal(await kindFrom('198.51.100.8', 'another slip'), 'wrong')
    assert.equal(await kindFrom('198.51.100.8'), 'authenticated')
    assert.equal(await kindFrom('2001:db8:1:2::/64'), 'authenticated')
  })
})

test('a known device has its own attempts, for its account only, and does not use up those of others', async () => {
  await withFixture({}, async fixture => {
    const { base, user } = fixture
    const id = await user(email, password)
    const other = await user('ben@example.com', password)
    const secrets = (await base.devices.remember([], id)) ?? []
    assert.equal(await base.devices.find(secrets, other), undefined)
    await flood(fixture)
    const neighbour = '203.0.113.1'
    for (let count = 0; count < 60; count++) await base.attempts.take(`someone ${count}`, neighbour)
    const kind = async (tried: string, shown = secrets, name = email) =>
      (await signInByPassword(base, { ...attempt(neighbour, tried, shown), email: name })).kind
    assert.equal(await kind(password, []), 'throttled')
    assert.equal(await kind(password), 'authenticated')
    assert.equal(await kind(password, secrets, 'ben@example.com'), 'throttled')
    for (let count = 0; count < 10; count++) assert.equal(await kind('guess'), 'wrong')
    assert.equal(await kind(password), 'throttled')
  })
})

test('a stolen device cookie allows fifty guesses a day', async () => {
  await withFixture({}, async ({ base, user, advance }) => {
    const id = await user(email, password)
    const device = await base.devices.find((await base.devices.remember([], id)) ?? [], id)
    let guesses = 0
    for (let quarter = 0; quarter < 96; quarter++) {
      // From an address without attempts of its own left.
      for (let count = 0; count < 50; count++) await base.attempts.take(`someone ${count}`, 'a')
      for (let count = 0; count < 20; count++) {
        if ((await base.attempts.take(email, 'a', device)) === undefined) guesses++
      }
      advance(15 * minuteMs)
    }
    assert.equal(guesses, 50)
  })
})

test('the documented bound holds: 2,400 guesses a day at one account, and three more from each network', async () => {
  let time = Date.UTC(2026, 0, 1)
  const now = () => time
  const counters = memoryCounters({ now, maxKeys: 1_000_000 })
  const throttle = createThrottle({ name: 'attempt', allowances: signInAllowances, counters, now })
  const networks = 500
  let guesses = 0
  for (let quarter = 0; quarter < 96; quarter++) {
    for (let network = 0; network < networks; network++) {
      // Each network has many addresses, and three of them try in each quarter of an hour.
      for (let at = 0; at < 3; at++) {
        const address = `2001:db8:${network.toString(16)}:${((quarter * 3 + at) % 256).toString(16)}::/64`
        if ((await throttle.take(email, address)) === undefined) guesses++
      }
    }
    time += 15 * minuteMs
  }
  assert.equal(guesses, 2400 + 3 * networks)
})

test('only its cookie makes a device known; an account has up to twenty, each for 400 days after its last sign-in', async () => {
  await withFixture({}, async ({ base, user, advance }) => {
    const id = await user(email, password)
    const { devices, records } = base
    const created: (readonly string[])[] = []
    for (let count = 0; count < 21; count++) {
      created.push((await devices.remember([], id)) ?? [])
      advance(1)
    }
    const isKnown = async (secrets: readonly string[] = []) => (await devices.find(secrets, id)) !== undefined
    assert.equal((await records.byOwner('KnownDevice', String(id))).length, 20)
    assert.equal(await isKnown(created[0]), false)
    assert.equal(await isKnown(created[1]), true)
    const stored = JSON.stringify(await records.all('KnownDevice'))
    for (const [secret = ''] of created) assert.ok(!stored.includes(secret))
    const dayMs = 24 * 60 * minuteMs
    advance(399 * dayMs)
    assert.equal(await devices.remember(created[20] ?? [], id), created[20])
    advance(dayMs)
    assert.deepEqual([await isKnown(created[20]), await isKnown(created[19])], [true, false])
    assert.equal(await devices.remember(created[20] ?? [], id), undefined)
  })
})

test('concurrent sign-ins leave an account at most 20 known devices', async () => {
  await withFixture({}, async ({ base: { devices, records }, user, advance }) => {
    const id = await user(email, password)
    for (let count = 0; count < 19; count++) await devices.remember([], id)
    const created = await Promise.all(Array.from({ length: 5 }, () => devices.remember([], id)))
    assert.equal((await records.byOwner('KnownDevice', String(id))).length, 20)
    advance(1)
    const newest = await devices.remember([], id)
    assert.ok(await devices.find(newest ?? [], id))
    assert.equal(created.filter(secrets => secrets === undefined).length, 0)
  })
})

test('sign-ins to an address that looks like another purpose do not use up the attempts for that purpose', async () => {
  await withFixture({}, async ({ base, user }) => {
    const id = await user(email, password)
    const keysOf = async (attempted: (own: AccountBase) => Promise<unknown>) => {
      const keys: string[] = []
      const counters = memoryCounters({ now: base.now })
      const take: typeof counters.take = (key, ...rest) => {
        keys.push(key)
        return counters.take(key, ...rest)
      }
      await attempted(createAccountBase({ ...base, counters: { take, give: counters.give } }))
      // The budget of an address is for all purposes.
      return keys.filter(key => !key.startsWith('attempt:address:'))
    }
    const confirming = await keysOf(own => confirmPassword(own, id, password, { address: 'a' }))
    const strange = { ...attempt('a', password), email: `confirm:${id}` }
    const signingIn = await keysOf(own => signInByPassword(own, strange))
    assert.ok(confirming.length > 0 && signingIn.length > 0)
    assert.deepEqual(
      signingIn.filter(key => confirming.includes(key)),
      [],
    )
  })
})

test('a secret planted in the browser never becomes a known device; several accounts may share a device’s secret', async () => {
  await withFixture({}, async ({ base, user }) => {
    const [one, two] = [await user(email, password), await user('ben@example.com', password)]
    const planted = 'A'.repeat(43)
    const first = (await base.devices.remember([planted], one)) ?? []
    assert.equal(await base.devices.find([planted], one), undefined)
    const both = (await base.devices.remember(first, two)) ?? []
    for (const id of [one, two]) assert.notEqual(await base.devices.find(both, id), undefined)
    assert.equal(await base.devices.remember(both, one), undefined)
    assert.deepEqual(secretsIn(both.join('.')), both)
    for (const value of [undefined, '', '.', 'x', `${planted}x`, 'é'.repeat(43), 'A'.repeat(10_000)]) {
      assert.deepEqual(secretsIn(value), [])
    }
    const many = Array.from({ length: 9 }, (_, at) => String(at).repeat(43))
    assert.deepEqual(secretsIn(many.slice(0, 5).join('.')), many.slice(0, 5))
    assert.deepEqual(secretsIn(many.join('.')), [])
  })
})

test('an attacker with the password but no codes does not stop the owner’s device from entering a code', async () => {
  await withFixture({}, async ({ base, user, advance }) => {
    const id = await user(email, password)
    const { secret } = await base.codes.start(id, email, 'Example')
    const codeNow = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: base.now() })
    assert.ok(await base.codes.confirm(id, codeNow()))
    const secrets = (await base.devices.remember([], id)) ?? []
    advance(minuteMs)
    let wrong = 0
    for (let count = 0; count < 60; count++) {
      const address = `203.0.113.${count}`
      const first = await signInByPassword(base, attempt(address, password))
      assert.ok('token' in first)
      if ((await signInByCode(base, first.token, 'aaaaa-aaaaa', { address })).kind === 'wrong') wrong++
    }
    assert.equal(wrong, 50)
    const own = await signInByPassword(base, attempt('198.51.100.7', password, secrets))
    assert.ok('token' in own)
    const from = { address: '198.51.100.7', secrets }
    assert.equal((await signInByCode(base, own.token, codeNow(), from)).kind, 'authenticated')
  })
})

test('resets and sign-ups that strangers request for an address do not keep its owner from a reset', async () => {
  await withFixture({ signUp: 'confirmed' }, async fixture => {
    const { base, user, sent, token, advance } = fixture
    await user(email, password)
    for (let count = 0; count < 40; count++) {
      const address = `203.0.113.${count}`
      await signUp(base, { name: 'X', email, password, address })
      assert.equal(await requestReset(base, email, address), undefined)
    }
    await base.idle()
    const resets = () => sent.filter(({ text }) => text.includes('/account/reset?token=')).length
    // The owner receives the mails that strangers caused, and their links work; more mails would only fill the mailbox.
    assert.equal(resets(), 4)
    assert.equal(await requestReset(base, email, '198.51.100.7'), undefined)
    await base.idle()
    assert.equal(resets(), 4)
    const link = /token=([\w-]+)/.exec(sent.filter(({ text }) => text.includes('reset?')).at(-1)?.text ?? '')
    advance(29 * minuteMs)
    assert.equal((await reset(base, link?.[1] ?? '', 'a staple in the meadow')).kind, 'done')
    advance(minuteMs)
    assert.equal(await requestReset(base, email, '198.51.100.7'), undefined)
    assert.ok((await token()) !== '')
    assert.equal(resets(), 5)
  })
})

function bodyOf(
  { fields }: Form,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.map(({ name, value }) => [name, values[name] ?? value]))
}

async function cookieOf(browser: Browser, url: string, first: Page, values: Record<string, string>) {
  const answer = await browser.send(new URL('/account/sign-in', url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' },
    body: new URLSearchParams(bodyOf(formWithField(first, 'password'), values)).toString(),
  })
  const cookies = (answer.headers['set-cookie'] ?? []).filter(line => line.includes('portico_device'))
  return { status: answer.status, cookies }
}

test('a successful sign-in sets the device cookie, limited to the service’s own pages, and `Secure` over https', async () => {
  for (const [baseUrl, pattern] of [
    [undefined, /^portico_device=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000$/],
    [
      'https://id.example.com',
      /^__Host-portico_device=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000; Secure$/,
    ],
  ] as const) {
    await withService(baseUrl === undefined ? {} : { baseUrl }, async ({ url, ann, browser }) => {
      const visitor = browser()
      const { text } = await visitor.send(new URL('/account/sign-in', url))
      const at = new URL('/account/sign-in', url)
      const first = { url: at, status: 200, headers: {}, text, forms: formsOf(text, at) }
      const wrong = await cookieOf(visitor, url, first, { email: ann.email, password: 'wrong' })
      assert.deepEqual(wrong.cookies, [])
      const right = await cookieOf(visitor, url, first, { email: ann.email, password: ann.password })
      assert.equal(right.status, 303)
      assert.equal(right.cookies.length, 1)
      assert.match(right.cookies[0] ?? '', pattern)
      const again = await cookieOf(visitor, url, first, { email: ann.email, password: ann.password })
      assert.deepEqual(again.cookies, [])
    })
  }
})

test('over HTTP, a known device can sign in from an address that has no attempts left', async () => {
  await withService({}, async ({ ann, browser }) => {
    const [owner, stranger] = [browser(), browser()]
    const values = { email: ann.email, password: ann.password }
    const first = formWithField(await open(owner, '/account/sign-in'), 'password')
    await owner.submit(first, values)
    const theirs = formWithField(await open(stranger, '/account/sign-in'), 'password')
    for (let count = 0; count < 25; count++) await stranger.submit(theirs, { ...values, password: 'wrong' })
    assert.equal(page(await stranger.submit(theirs, values)).status, 429)
    const back = page(await owner.submit(first, values))
    assert.equal(back.url.pathname, '/account')
  })
})
