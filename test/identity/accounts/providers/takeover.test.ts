/**
 * Attempts to take over an account by sign-in with a provider, and the result of each. docs/sign-in-with-others.md lists
 * those that operators ask about.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { system } from '../../../../src/base/principal.ts'
import { deleteShape, updateShape } from '../../../../src/engine/plan/system-plans.ts'
import { createOneTimeCodes } from '../../../../src/identity/accounts/sign-in/one-time-codes.ts'
import { call } from '../../../server/serve/service.ts'
import type { Answer, Page } from '../../conformance/browser.ts'
import { consentOf } from '../../conformance/server.ts'
import { type SoftPasskey, softPasskey } from '../sign-in/soft-authenticator.ts'
import {
  type Fixture,
  formTo,
  formWithField,
  mailedLink,
  openFixture,
  page,
  password,
  redirectOf,
  signedInEmail,
  signIn,
  signInByPassword,
  startSignIn,
  textOf,
  type Visitor,
} from './fixture.ts'
import { consumerTenant, type ResponseChanges, tenant } from './stub.ts'

let fixture: Fixture
before(async () => {
  fixture = await openFixture()
})
after(() => fixture.close())

type Values = Readonly<Record<string, unknown>>

interface Result {
  readonly shown: Page | Answer
  /** The browser in which nobody may be signed in afterwards, except the user with the address `as`. */
  readonly browser: Visitor
  readonly as?: string | undefined
}

interface Attempt {
  readonly name: string
  readonly attempt: () => Promise<Result>
  readonly expected: RegExp
}

let subjects = 0
const newSubject = () => `sub-${++subjects}`
const verifiedClaims = (email: string, more: Values = {}) => ({
  sub: newSubject(),
  email,
  email_verified: true,
  name: 'Eve',
  ...more,
})

/** Signs in with the provider in a new browser. */
async function by(provider: string, claims: Values, tweaks: ResponseChanges = {}): Promise<Result> {
  const browser = fixture.browser()
  return { browser, shown: await signIn(fixture, browser, provider, claims, tweaks) }
}

async function account(options?: Parameters<Fixture['user']>[1]) {
  const email = fixture.email()
  return { email, id: await fixture.user(email, options) }
}

/** The victim has an account, and the attacker’s provider asserts these claims in addition to the victim’s address. */
async function asVictim(claims: Values, provider = 'google', options?: Parameters<Fixture['user']>[1]) {
  const { email } = await account(options)
  return by(provider, { ...verifiedClaims(email), ...claims })
}

async function withToken(token: Values, tweaks: ResponseChanges = {}, provider = 'corp') {
  const email = fixture.email()
  return by(provider, verifiedClaims(email), { token, ...tweaks })
}

/** A user who has signed in by password. */
async function signedInBrowser(options?: Parameters<Fixture['user']>[1]) {
  const created = await account(options)
  const browser = fixture.browser()
  await signInByPassword(browser, created.email)
  return { ...created, browser }
}

async function securityForm(browser: Visitor, change: string, has?: readonly [string, string]) {
  const shown = page(await browser.open('/account/security'))
  if (has) return formWithField(shown, ...has)
  return formWithField(shown, 'change', change)
}

/** The URL to which linking the provider sends the browser. */
async function startLink(browser: Visitor, provider: string): Promise<URL> {
  return redirectOf(await browser.submit(await securityForm(browser, '', ['provider', provider])))
}

/** A user who signs in with the provider only. */
async function providerUser(provider = 'corp') {
  const email = fixture.email()
  const claims = verifiedClaims(email)
  const { browser } = await by(provider, claims)
  const id = (await fixture.find(email))?.id ?? 0
  return { email, claims, browser, id }
}

async function open(browser: Visitor, url: URL | string): Promise<Page> {
  return page(await browser.open(url))
}

async function signInByPasskey(browser: Visitor, passkey: SoftPasskey, counter: number): Promise<Answer> {
  const send = (path: string, body: string) =>
    browser.send(new URL(path, fixture.url), {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' },
    })
  const { challenge } = JSON.parse((await send('/account/passkeys/get', '{}')).text)
  return send('/account/sign-in', `{"passkey":${passkey.assertion(challenge, counter)}}`)
}

/** A user with one-time codes who has entered the password. */
async function beforeCode() {
  const { email, id } = await account()
  const codes = createOneTimeCodes(fixture.opened.records)
  const { secret } = await codes.start(id, email, 'Portico')
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const earlier = totp.generate({ timestamp: Date.now() - 30_000 })
  const [recovery = ''] = (await codes.confirm(id, earlier)) ?? []
  const browser = fixture.browser()
  const form = formWithField(await signInByPassword(browser, email), 'code')
  return { browser, form, recovery, id, code: () => totp.generate() }
}

/** A user who has connected an app that asks for a refresh token. */
async function connectedApp() {
  const { id, browser } = await signedInBrowser()
  const key = await fixture.key(await fixture.user(fixture.email()))
  const redirect_uri = 'https://app.example.com/callback'
  const scopes = ['openid', 'offline_access', 'read:user']
  const created = await call(`${fixture.url}/api/v1/oauth_apps`, {
    method: 'POST',
    key,
    body: { name: 'Reader', redirect_uris: [redirect_uri], scopes },
  })
  const { client_id, client_secret } = created.json as Record<'client_id' | 'client_secret', string>
  const request = { response_type: 'code', client_id, redirect_uri, scope: scopes.join(' '), state: 's' }
  const { form, button } =
    consentOf(await open(browser, `/oauth/authorize?${new URLSearchParams(request)}`)) ?? assert.fail()
  const { searchParams } = redirectOf(await browser.submit(form, {}, button))
  const token = (values: Readonly<Record<string, string>>) =>
    post(fixture.browser(), '/oauth/token', { client_id, client_secret, ...values })
  const code = searchParams.get('code') ?? assert.fail(String(searchParams))
  const granted = await token({ grant_type: 'authorization_code', code, redirect_uri })
  const tokens = JSON.parse(granted.text) as Record<'access_token' | 'refresh_token', string>
  assert.ok(tokens.access_token && tokens.refresh_token, granted.text)
  const refresh = (refresh_token: string) => token({ grant_type: 'refresh_token', refresh_token })
  return { id, tokens, refresh }
}

async function post(
  browser: Visitor,
  path: string,
  values: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) {
  return browser.send(new URL(path, fixture.url), {
    method: 'POST',
    body: new URLSearchParams(values).toString(),
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Sec-Fetch-Site': 'same-origin',
      ...headers,
    },
  })
}

async function csrfOf(browser: Visitor): Promise<string> {
  const { fields } = formWithField(await open(browser, '/account/sign-in'), 'csrf')
  return fields.find(({ name }) => name === 'csrf')?.value ?? ''
}

const setEmail = updateShape('users', ['email'])
const setDisabled = updateShape('users', ['disabled'])
const set = (shape: typeof setEmail, id: number, value: string | boolean) =>
  fixture.opened.run.write({ shape, args: [id, value] }, system)

const over = /This sign-in is over/
const refused = /could not sign you in/
const asksForAddress = /Create an account .*We send a link there/
const offered = /An account with your address at .* exists already/

/** A browser in the middle of a sign-in with the provider. */
async function unfinishedSignIn(provider = 'corp') {
  const browser = fixture.browser()
  return { browser, left: await startSignIn(browser, provider) }
}

async function offeredTo(email: string, claims: Values = verifiedClaims(email)) {
  const browser = fixture.browser()
  await signIn(fixture, browser, 'google', claims)
  return { browser, claims }
}

/** Signs in by password, and continues to the link that was offered. */
async function acceptOffer(browser: Visitor, email: string): Promise<Page> {
  const form = formWithField(await open(browser, '/account/sign-in?next=/account/link'), 'password')
  return page(await browser.submit(form, { email, password }))
}

async function githubBy(user: Values, tweaks: ResponseChanges = {}) {
  return by('github', user, tweaks)
}

const attempts: readonly Attempt[] = [
  {
    name: 'the verified address of a confirmed account does not sign in to it: its owner must sign in first',
    attempt: () => asVictim({}),
    expected: offered,
  },
  {
    name: 'an offered link cannot be accepted by another account',
    attempt: async () => {
      const { email } = await account()
      const mallory = await account()
      const { browser } = await offeredTo(email)
      return { browser, shown: await acceptOffer(browser, mallory.email), as: mallory.email }
    },
    expected: /You are signed in to another account/,
  },
  {
    name: 'the owner of both accounts links them, and then signs in with the provider',
    attempt: async () => {
      const { email } = await account()
      const { browser, claims } = await offeredTo(email)
      const linkPage = await acceptOffer(browser, email)
      await browser.submit(formTo(linkPage, '/account/link'))
      return { ...(await by('google', claims)), as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'an account prepared with somebody else’s address is not linked before its address is confirmed',
    attempt: () => asVictim({}, 'google', { confirmed: false }),
    expected: /never confirmed/,
  },
  {
    name: 'an account created by an administrator is not linked before its address is confirmed',
    attempt: () => asVictim({}, 'corp', { confirmed: false, signedUp: false }),
    expected: /never confirmed/,
  },
  {
    name: 'an unverified address from the provider gets a mail whose link does not sign in to an existing account',
    attempt: async () => {
      const { email } = await account()
      const { browser, shown } = await by('google', verifiedClaims(email, { email_verified: false }))
      assert.match(textOf(shown), asksForAddress)
      const done = page(await browser.submit(formWithField(shown as Page, 'email'), { email }))
      for (let count = 0; count < 100 && !fixture.mails.some(({ to }) => to === email); count++)
        await new Promise(resolve => setImmediate(resolve))
      assert.doesNotMatch(fixture.mails.findLast(({ to }) => to === email)?.text ?? 'account=', /account=/)
      return { browser, shown: done }
    },
    expected: /Check your mail/,
  },
  ...(['true', 'false', 1, null, undefined, {}] as const).map(email_verified => ({
    name: `\`email_verified\`: ${JSON.stringify(email_verified)} does not verify the address`,
    attempt: () => asVictim({ email_verified }),
    expected: asksForAddress,
  })),
  {
    name: 'an address in a Microsoft token is not verified without `xms_edov`',
    attempt: () => asVictim({ tid: tenant }, 'microsoft'),
    expected: asksForAddress,
  },
  {
    name: '`xms_edov` as a string does not verify the address',
    attempt: () => asVictim({ tid: tenant, xms_edov: '1' }, 'microsoft'),
    expected: asksForAddress,
  },
  {
    name: 'an address in upper case is the same address, and creates no second account',
    attempt: async () => {
      const { email } = await account()
      return by('google', verifiedClaims(email.toUpperCase()))
    },
    expected: offered,
  },
  {
    name: 'the Kelvin sign is not a k: an address with it is not treated as verified',
    attempt: async () => {
      const email = `mark${fixture.email()}`
      await fixture.user(email)
      return by('google', verifiedClaims(email.replace('mark', 'mar\u212A')))
    },
    expected: asksForAddress,
  },
  {
    name: 'a plus-address is another address with its own account',
    attempt: async () => {
      const { email } = await account()
      const other = email.replace('@', '+x@')
      return { ...(await by('google', verifiedClaims(other))), as: other }
    },
    expected: /Your account/,
  },
  {
    name: 'changing the address at the provider to the victim’s still signs in to the attacker’s own account',
    attempt: async () => {
      const mine = await providerUser()
      const { email } = await account()
      return { ...(await by('corp', { ...mine.claims, email })), as: mine.email }
    },
    expected: /Your account/,
  },
  {
    name: 'changing the address of an account does not unlink its identity',
    attempt: async () => {
      const { id, claims } = await providerUser()
      const email = fixture.email()
      await set(setEmail, id, email)
      return { ...(await by('corp', claims)), as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'an offer is void once the account has another address',
    attempt: async () => {
      const { email, id } = await account()
      const { browser } = await offeredTo(email)
      const linkPage = await acceptOffer(browser, email)
      const next = fixture.email()
      await set(setEmail, id, next)
      return { browser, shown: page(await browser.submit(formTo(linkPage, '/account/link'))), as: next }
    },
    expected: over,
  },
  {
    name: 'another subject with the same address is not signed in',
    attempt: async () => {
      const { claims } = await providerUser()
      return by('corp', { ...claims, sub: newSubject() })
    },
    expected: offered,
  },
  {
    name: 'the same subject of another issuer is another identity',
    attempt: async () => {
      const { claims } = await providerUser()
      const email = fixture.email()
      return { ...(await by('other', { ...claims, email })), as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'a token for another audience is refused',
    attempt: () => withToken({ aud: 'client-other' }),
    expected: refused,
  },
  {
    name: 'a token for two audiences with the other one in `azp` is refused',
    attempt: () => withToken({ aud: ['client-corp', 'client-other'], azp: 'client-other' }),
    expected: refused,
  },
  {
    name: '`alg: none` is refused',
    attempt: () => withToken({}, { signature: 'none' }, 'other'),
    expected: refused,
  },
  {
    name: 'HS256 with the public key as the secret is refused',
    attempt: () => withToken({}, { signature: 'hs256' }, 'other'),
    expected: refused,
  },
  {
    name: 'a signature by another key is refused',
    attempt: () => withToken({}, { signature: 'foreign' }),
    expected: refused,
  },
  {
    name: 'an expired token is refused',
    attempt: () => withToken({ exp: 1_700_000_000 }),
    expected: refused,
  },
  {
    name: 'a token from the future is refused',
    attempt: () => withToken({ nbf: 4_000_000_000 }),
    expected: refused,
  },
  {
    name: 'a token without `nonce` is refused',
    attempt: () => withToken({ nonce: undefined }),
    expected: refused,
  },
  {
    name: 'the `nonce` of another browser is refused',
    attempt: async () => {
      const other = await unfinishedSignIn()
      return withToken({ nonce: other.left.searchParams.get('nonce') })
    },
    expected: refused,
  },
  {
    name: 'a token of another issuer is refused',
    attempt: () => withToken({ iss: 'https://other.example.com' }),
    expected: refused,
  },
  {
    name: 'a token without `sub` is refused',
    attempt: () => withToken({ sub: undefined }),
    expected: refused,
  },
  {
    name: 'a `sub` that is not a string is refused',
    attempt: () => withToken({ sub: 7 }),
    expected: refused,
  },
  {
    name: 'a `sub` that is too long is refused',
    attempt: () => withToken({ sub: 'x'.repeat(256) }),
    expected: refused,
  },
  {
    name: 'a token response without an ID token is refused',
    attempt: () => withToken({}, { answer: { body: '{"access_token":"x","token_type":"bearer"}' } }),
    expected: refused,
  },
  {
    name: 'a Microsoft tenant cannot issue tokens for another tenant',
    attempt: () =>
      withToken(
        { tid: tenant, iss: `https://login.microsoftonline.com/${consumerTenant}/v2.0` },
        {},
        'microsoft',
      ),
    expected: refused,
  },
  {
    name: 'a Microsoft tenant that is not a UUID is refused',
    attempt: () =>
      withToken({ tid: 'x/../y', iss: 'https://login.microsoftonline.com/x/../y/v2.0' }, {}, 'microsoft'),
    expected: refused,
  },
  {
    name: 'metadata that names another issuer is refused',
    attempt: async () => {
      const browser = fixture.browser()
      const form = formTo(await open(browser, '/account/sign-in'), '/account/sign-in/liar')
      return { browser, shown: page(await browser.submit(form)) }
    },
    expected: refused,
  },
  {
    name: 'a callback in another browser is refused',
    attempt: async () => {
      const { left } = await unfinishedSignIn()
      const browser = fixture.browser()
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(left, verifiedClaims(fixture.email()))),
      }
    },
    expected: over,
  },
  {
    name: 'a callback works once',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      const email = fixture.email()
      const callback = fixture.providers.authorize(left, verifiedClaims(email))
      await open(browser, callback)
      return { browser, shown: await open(browser, callback), as: email }
    },
    expected: over,
  },
  {
    name: 'a used code is refused in a later sign-in',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      const used = fixture.providers.authorize(left, verifiedClaims(fixture.email()))
      await open(browser, used)
      const second = await unfinishedSignIn()
      const callback = fixture.providers.authorize(second.left, verifiedClaims(fixture.email()))
      callback.searchParams.set('code', used.searchParams.get('code') ?? '')
      return { browser: second.browser, shown: await open(second.browser, callback) }
    },
    expected: refused,
  },
  {
    name: 'a callback without `state` is refused',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      const callback = fixture.providers.authorize(left, verifiedClaims(fixture.email()), {
        parameters: { state: undefined },
      })
      return { browser, shown: await open(browser, callback) }
    },
    expected: over,
  },
  {
    name: 'a `state` with as many characters but more bytes is refused',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      const callback = fixture.providers.authorize(left, verifiedClaims(fixture.email()))
      const { length } = callback.searchParams.get('state') ?? assert.fail(String(callback))
      callback.searchParams.set('state', 'é'.repeat(length))
      return { browser, shown: await open(browser, callback) }
    },
    expected: over,
  },
  {
    name: 'the `state` of another browser is refused',
    attempt: async () => {
      const [victim, attacker] = [await unfinishedSignIn(), await unfinishedSignIn()]
      const callback = fixture.providers.authorize(attacker.left, verifiedClaims(fixture.email()))
      return { browser: victim.browser, shown: await open(victim.browser, callback) }
    },
    expected: over,
  },
  {
    name: 'another browser’s code is refused, even with the right `state`',
    attempt: async () => {
      const [victim, attacker] = [await unfinishedSignIn(), await unfinishedSignIn()]
      const callback = fixture.providers.authorize(attacker.left, verifiedClaims(fixture.email()))
      callback.searchParams.set('state', victim.left.searchParams.get('state') ?? '')
      return { browser: victim.browser, shown: await open(victim.browser, callback) }
    },
    expected: refused,
  },
  {
    name: 'a callback cannot be used for another provider',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn('corp')
      const callback = fixture.providers.authorize(left, verifiedClaims(fixture.email()))
      callback.pathname = '/account/sign-in/other/callback'
      return { browser, shown: await open(browser, callback) }
    },
    expected: over,
  },
  {
    name: 'another issuer in the `iss` of a callback is refused',
    attempt: () => withToken({}, { parameters: { iss: 'https://other.example.com' } }),
    expected: refused,
  },
  {
    name: 'a callback without `iss` is refused if its issuer announces it',
    attempt: () => withToken({}, { parameters: { iss: undefined } }),
    expected: refused,
  },
  {
    name: 'a forged error does not end the sign-in in progress',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      await open(browser, '/account/sign-in/corp/callback?error=access_denied&state=x')
      const email = fixture.email()
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(left, verifiedClaims(email))),
        as: email,
      }
    },
    expected: /Your account/,
  },
  {
    name: 'a HEAD request does not consume the callback',
    attempt: async () => {
      const { browser, left } = await unfinishedSignIn()
      const callback = fixture.providers.authorize(left, verifiedClaims(fixture.email()))
      const { status, ...rest } = await browser.send(callback, { method: 'HEAD' })
      return { browser, shown: { ...rest, status, text: `status ${status}` } }
    },
    expected: /status 405/,
  },
  {
    name: 'another site cannot start a sign-in without a form token',
    attempt: async () => {
      const browser = fixture.browser()
      return { browser, shown: await post(browser, '/account/sign-in/google', { csrf: 'x' }) }
    },
    expected: /no longer valid/,
  },
  {
    name: 'another site cannot start a sign-in even with a form token',
    attempt: async () => {
      const browser = fixture.browser()
      const csrf = await csrfOf(browser)
      return {
        browser,
        shown: await post(browser, '/account/sign-in/google', { csrf }, { 'Sec-Fetch-Site': 'cross-site' }),
      }
    },
    expected: /no longer valid/,
  },
  {
    name: 'a GET request cannot start a sign-in',
    attempt: async () => {
      const browser = fixture.browser()
      return { browser, shown: await open(browser, '/account/sign-in/google') }
    },
    expected: /method/i,
  },
  {
    name: 'another site cannot start linking a provider',
    attempt: async () => {
      const { browser, email } = await signedInBrowser()
      const values = { change: 'link-provider', provider: 'google', csrf: 'x' }
      return { browser, shown: await post(browser, '/account/security', values), as: email }
    },
    expected: /no longer valid/,
  },
  {
    name: 'another site cannot unlink a provider',
    attempt: async () => {
      const { browser, email } = await providerUser()
      const { fields } = await securityForm(browser, 'unlink-provider')
      const identity = fields.find(({ name }) => name === 'identity')?.value ?? ''
      const shown = await post(browser, '/account/security', {
        change: 'unlink-provider',
        identity,
        csrf: '',
      })
      return { browser, shown, as: email }
    },
    expected: /no longer valid/,
  },
  {
    name: 'another site cannot accept an offered link',
    attempt: async () => {
      const { email } = await account()
      const { browser } = await offeredTo(email)
      await acceptOffer(browser, email)
      return { browser, shown: await post(browser, '/account/link', { answer: 'link', csrf: '' }), as: email }
    },
    expected: /no longer valid/,
  },
  ...['https://evil.example', '//evil.example', '/account/../evil', '/\\evil.example'].map(next => ({
    name: `\`next\`: ${next} leads nowhere`,
    attempt: async () => {
      const browser = fixture.browser()
      const email = fixture.email()
      const form = formTo(await open(browser, '/account/sign-in?next=/account/apps'), '/account/sign-in/corp')
      const fields = form.fields.map(field => (field.name === 'next' ? { ...field, value: next } : field))
      const callback = fixture.providers.authorize(
        redirectOf(await browser.submit({ ...form, fields })),
        verifiedClaims(email),
      )
      const shown = await open(browser, callback)
      assert.equal(shown.url.pathname, '/account')
      return { browser, shown, as: email }
    },
    expected: /Your account/,
  })),
  {
    name: 'an app’s request that waits in another browser cannot be continued',
    attempt: async () => {
      const browser = fixture.browser()
      const form = formTo(await open(browser, '/account/sign-in'), '/account/sign-in/corp')
      const fields = [...form.fields, { name: 'interaction', type: 'hidden', value: 'abc', checked: false }]
      const callback = fixture.providers.authorize(
        redirectOf(await browser.submit({ ...form, fields })),
        verifiedClaims(fixture.email()),
      )
      return { browser, shown: await open(browser, callback) }
    },
    expected: /is over/,
  },
  {
    name: 'a sign-in replaces a session that existed before it',
    attempt: async () => {
      const browser = fixture.browser()
      const { id, email: first } = await account()
      const form = formTo(await open(browser, '/account/sign-in'), '/account/sign-in/corp')
      await signInByPassword(browser, first)
      const { records } = fixture.opened
      const before = (await records.byOwner('Session', String(id))).map(session => session.id)
      const email = fixture.email()
      const shown = await open(
        browser,
        fixture.providers.authorize(redirectOf(await browser.submit(form)), verifiedClaims(email)),
      )
      const after = (await records.all('Session')).map(session => session.id)
      assert.ok(before.length === 1 && !after.includes(before[0] ?? ''))
      return { browser, shown, as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'a link started by an attacker cannot be finished in the victim’s browser',
    attempt: async () => {
      const [attacker, victim] = [await signedInBrowser(), await signedInBrowser()]
      const callback = fixture.providers.authorize(
        await startLink(attacker.browser, 'google'),
        verifiedClaims(fixture.email()),
      )
      return { browser: victim.browser, shown: await open(victim.browser, callback), as: victim.email }
    },
    expected: over,
  },
  {
    name: 'a link cannot be finished after another user has signed in to the browser',
    attempt: async () => {
      const [first, second] = [await signedInBrowser(), await account()]
      const left = await startLink(first.browser, 'google')
      await first.browser.submit(formTo(await open(first.browser, '/account'), '/account/sign-out'))
      await signInByPassword(first.browser, second.email)
      const shown = await open(
        first.browser,
        fixture.providers.authorize(left, verifiedClaims(fixture.email())),
      )
      return { browser: first.browser, shown, as: second.email }
    },
    expected: over,
  },
  {
    name: 'a link cannot be finished in another session of the same account',
    attempt: async () => {
      const { browser, email } = await signedInBrowser()
      const left = await startLink(browser, 'google')
      await browser.submit(formTo(await open(browser, '/account'), '/account/sign-out'))
      await signInByPassword(browser, email)
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(left, verifiedClaims(fixture.email()))),
        as: email,
      }
    },
    expected: over,
  },
  {
    name: 'accepting an offered link again has no effect',
    attempt: async () => {
      const { email } = await account()
      const { browser } = await offeredTo(email)
      const linkForm = formTo(await acceptOffer(browser, email), '/account/link')
      await browser.submit(linkForm)
      const shown = page(await browser.submit(linkForm))
      assert.equal(shown.url.pathname, '/account/security')
      return { browser, shown, as: email }
    },
    expected: /Security/,
  },
  {
    name: 'an identity that signs in to another account cannot be linked to a second one',
    attempt: async () => {
      const { claims } = await providerUser()
      const { browser, email } = await signedInBrowser()
      const callback = fixture.providers.authorize(await startLink(browser, 'corp'), claims)
      return { browser, shown: await open(browser, callback), as: email }
    },
    expected: /is linked to another account here/,
  },
  {
    name: 'a session with an old sign-in must confirm it before it links a provider',
    attempt: async () => {
      const { browser, email, id } = await signedInBrowser()
      const form = await securityForm(browser, '', ['provider', 'google'])
      const { records } = fixture.opened
      for (const { kind, id: name, payload } of await records.byOwner('Session', String(id))) {
        const stored = JSON.parse(payload)
        await records.swap(
          { kind, id: name },
          payload,
          JSON.stringify({ ...stored, loginTs: stored.loginTs - 604_800 }),
        )
      }
      return { browser, shown: page(await browser.submit(form)), as: email }
    },
    expected: /how your account is protected, so sign in once more/,
  },
  {
    name: 'confirming the sign-in with an identity that is not linked signs in to no other account',
    attempt: async () => {
      const { browser, email } = await signedInBrowser()
      const left = await startSignIn(browser, 'google', '/account/sign-in?confirm=yes&next=/account/security')
      assert.equal(left.searchParams.get('prompt'), 'select_account')
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(left, verifiedClaims(fixture.email()))),
        as: email,
      }
    },
    expected: /is not linked/,
  },
  {
    name: 'the last way to sign in cannot be unlinked',
    attempt: async () => {
      const { browser, email } = await providerUser()
      const shown = page(await browser.submit(await securityForm(browser, 'unlink-provider')))
      return { browser, shown, as: email }
    },
    expected: /your only way to sign in/,
  },
  {
    name: 'unlinking both providers concurrently never removes both',
    attempt: async () => {
      const { browser, email, id } = await providerUser()
      await open(
        browser,
        fixture.providers.authorize(await startLink(browser, 'google'), verifiedClaims(fixture.email())),
      )
      const forms = (await open(browser, '/account/security')).forms.filter(({ fields }) =>
        fields.some(({ value }) => value === 'unlink-provider'),
      )
      assert.equal(forms.length, 2)
      const [shown] = await Promise.all(forms.map(async form => page(await browser.submit(form))))
      assert.ok((await fixture.opened.records.byOwner('Identity', String(id))).length >= 1)
      assert.ok(shown)
      return { browser, shown, as: email }
    },
    expected: /Security/,
  },
  {
    name: 'removing both passkeys concurrently never removes both, when there is no other way to sign in',
    attempt: async () => {
      const { browser, email, id } = await providerUser()
      const { records } = fixture.opened
      const owner = String(id)
      const payload = JSON.stringify({ userId: id, name: 'A phone', createdAt: 0, transports: [] })
      const keys = [`one of ${id}`, `two of ${id}`]
      for (const key of keys) await records.put({ kind: 'Passkey', id: key, payload, expiresAt: null, owner })
      await browser.submit(await securityForm(browser, 'unlink-provider'))
      assert.deepEqual(await records.byOwner('Identity', owner), [])
      const shown = await open(browser, '/account/security')
      const forms = keys.map(key => formWithField(shown, 'passkey', key))
      await Promise.all(forms.map(form => browser.submit(form)))
      assert.ok((await records.byOwner('Passkey', owner)).length >= 1)
      return { browser, shown, as: email }
    },
    expected: /Security/,
  },
  {
    name: 'with a password set, the identity can be unlinked',
    attempt: async () => {
      const { browser, email, claims } = await providerUser()
      await browser.submit(await securityForm(browser, 'first-password'), { new_password: password })
      await browser.submit(await securityForm(browser, 'unlink-provider'))
      const again = fixture.browser()
      await signInByPassword(again, email)
      assert.equal(await signedInEmail(again), email)
      return by('corp', claims)
    },
    expected: offered,
  },
  {
    name: 'an account with one-time codes requires one after a sign-in with a provider too',
    attempt: async () => {
      const { id, claims, email } = await providerUser()
      const codes = createOneTimeCodes(fixture.opened.records)
      const { secret } = await codes.start(id, email, 'Portico')
      const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
      assert.ok(await codes.confirm(id, code))
      return by('corp', claims)
    },
    expected: /one-time code/,
  },
  {
    name: 'a disabled user cannot sign in with a provider',
    attempt: async () => {
      const { id, claims } = await providerUser()
      await set(setDisabled, id, true)
      return by('corp', claims)
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user cannot sign in by password',
    attempt: async () => {
      const { id, email } = await account()
      await set(setDisabled, id, true)
      const browser = fixture.browser()
      const shown = await signInByPassword(browser, email)
      const devices = await fixture.opened.records.byOwner('KnownDevice', String(id))
      assert.deepEqual(devices, [], 'the browser is not known to the account')
      return { browser, shown }
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user’s session from a provider ends',
    attempt: async () => {
      const { id, browser } = await providerUser()
      await set(setDisabled, id, true)
      return { browser, shown: await open(browser, '/account/security') }
    },
    expected: /Sign in/,
  },
  {
    name: 'a disabled user’s API key is refused',
    attempt: async () => {
      const { id } = await providerUser()
      const key = await fixture.key(id)
      await set(setDisabled, id, true)
      const { status, text } = await call(`${fixture.url}/api/v1/me`, { key })
      return { browser: fixture.browser(), shown: { status, text, headers: {} } }
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user cannot sign in by passkey',
    attempt: async () => {
      const { id } = await account()
      const passkey = softPasskey(fixture.url, id, Date.now())
      await fixture.opened.records.put(passkey.record)
      const browser = fixture.browser()
      await signInByPasskey(browser, passkey, 2)
      assert.ok(await signedInEmail(browser), 'signs in while the account is enabled')
      await set(setDisabled, id, true)
      const other = fixture.browser()
      return { browser: other, shown: await signInByPasskey(other, passkey, 3) }
    },
    expected: /disabled/,
  },
  {
    name: 'a user who is disabled between the password and the one-time code is not signed in',
    attempt: async () => {
      const { browser, form, code, id } = await beforeCode()
      await set(setDisabled, id, true)
      return { browser, shown: page(await browser.submit(form, { code: code() })) }
    },
    expected: /disabled/,
  },
  {
    name: 'a user who is disabled between the password and the recovery code is not signed in',
    attempt: async () => {
      const { browser, form, recovery, id } = await beforeCode()
      await set(setDisabled, id, true)
      return { browser, shown: page(await browser.submit(form, { code: recovery })) }
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user cannot sign in after using a reset link that was sent before',
    attempt: async () => {
      const { id, email } = await account()
      const browser = fixture.browser()
      const resetForm = formWithField(await open(browser, '/account/reset'), 'email')
      await browser.submit(resetForm, { email })
      const link = await mailedLink(fixture, email, /\/account\/reset\?token=[\w-]+/)
      await set(setDisabled, id, true)
      const shown = await open(browser, link)
      const form = shown.forms.find(({ fields }) => fields.some(({ name }) => name === 'password'))
      if (form) await browser.submit(form, { password: 'another good password' })
      const again = fixture.browser()
      return { browser: again, shown: await signInByPassword(again, email) }
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user’s access token is refused',
    attempt: async () => {
      const { id, tokens } = await connectedApp()
      await set(setDisabled, id, true)
      const { status, text } = await call(`${fixture.url}/api/v1/me`, { key: tokens.access_token })
      return { browser: fixture.browser(), shown: { status, text, headers: {} } }
    },
    expected: /disabled/,
  },
  {
    name: 'a disabled user’s refresh token is refused',
    attempt: async () => {
      const { id, tokens, refresh } = await connectedApp()
      await set(setDisabled, id, true)
      return { browser: fixture.browser(), shown: await refresh(tokens.refresh_token) }
    },
    expected: /invalid_grant/,
  },
  {
    name: 'a disabled user cannot link a provider',
    attempt: async () => {
      const { id, browser } = await signedInBrowser()
      const left = await startLink(browser, 'google')
      await set(setDisabled, id, true)
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(left, verifiedClaims(fixture.email()))),
      }
    },
    expected: over,
  },
  {
    name: 'the identity of a deleted user signs in to a new account',
    attempt: async () => {
      const { id, claims, email } = await providerUser()
      await fixture.opened.run.write({ shape: deleteShape('users'), args: [id] }, system)
      assert.equal((await fixture.opened.records.byOwner('Identity', String(id))).length, 0)
      const again = await by('corp', claims)
      assert.notEqual((await fixture.find(email))?.id, id)
      return { ...again, as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'a reset unlinks the identity that an attacker linked',
    attempt: async () => {
      const { browser, email } = await signedInBrowser()
      const claims = verifiedClaims(fixture.email())
      await open(browser, fixture.providers.authorize(await startLink(browser, 'corp'), claims))
      const owner = fixture.browser()
      await owner.submit(formWithField(await open(owner, '/account/reset'), 'email'), { email })
      const link = await mailedLink(fixture, email, /\/account\/reset\?token=[\w-]+/)
      const done = page(
        await owner.submit(formWithField(await open(owner, link), 'password'), {
          password: 'a staple in the meadow',
        }),
      )
      assert.match(textOf(done), /1 sign-in with another provider/)
      const after = await by('corp', claims)
      return { ...after, as: claims.email }
    },
    expected: /Your account/,
  },
  {
    name: 'the first confirmation of an address unlinks what was linked to the prepared account',
    attempt: async () => {
      const { browser, email } = await signedInBrowser({ confirmed: false })
      const claims = verifiedClaims(fixture.email())
      await open(browser, fixture.providers.authorize(await startLink(browser, 'corp'), claims))
      const owner = fixture.browser()
      const home = await signInByPassword(owner, email)
      await owner.submit(formWithField(home, 'send'))
      const opened = await open(owner, await mailedLink(fixture, email, /\/account\/verify\?token=[\w-]+/))
      await owner.submit(formTo(opened, '/account/verify'))
      return { ...(await by('corp', claims)), as: claims.email }
    },
    expected: /Your account/,
  },
  {
    name: 'concurrent first sign-ins create one account',
    attempt: async () => {
      const email = fixture.email()
      const claims = verifiedClaims(email)
      const results = await Promise.all([by('corp', claims), by('corp', claims), by('corp', claims)])
      for (const { browser } of results) assert.equal(await signedInEmail(browser), email)
      const [first] = results
      return { ...first, as: email }
    },
    expected: /Your account/,
  },
  {
    name: 'the link that creates an account cannot be used by another identity',
    attempt: async () => {
      const email = fixture.email()
      await sentTo(email)
      const link = await mailedLink(fixture, email, /\/account\/verify\?account=[\w-]+/)
      const browser = fixture.browser()
      const to = redirectOf(await browser.submit(formWithField(await open(browser, link), 'account')))
      return {
        browser,
        shown: await open(browser, fixture.providers.authorize(to, verifiedClaims(fixture.email()))),
      }
    },
    expected: /for somebody else/,
  },
  {
    name: 'the link that creates an account cannot be finished with a password',
    attempt: async () => {
      const email = fixture.email()
      await sentTo(email)
      const account =
        /account=([\w-]+)/.exec(await mailedLink(fixture, email, /\/account\/verify\?account=[\w-]+/))?.[1] ??
        ''
      const browser = fixture.browser()
      const csrf = await csrfOf(browser)
      return { browser, shown: await post(browser, '/account/verify', { csrf, account, password }) }
    },
    expected: /no longer works/,
  },
  {
    name: 'HTML in a name is escaped',
    attempt: async () => {
      const name = '<img src=x onerror=alert(1)>'
      const shown = await by('google', verifiedClaims(fixture.email(), { name, email_verified: false }))
      assert.ok(!shown.shown.text.includes(name))
      return shown
    },
    expected: asksForAddress,
  },
  {
    name: 'a name that is too long or has only control characters is asked for',
    attempt: async () => {
      const shown = await by('google', verifiedClaims(fixture.email(), { name: 'x'.repeat(100_000) }))
      assert.ok(!shown.shown.text.includes('x'.repeat(101)))
      await by('google', verifiedClaims(fixture.email(), { name: '\u0000\r\n\u202E' }))
      return shown
    },
    expected: /Create an account/,
  },
  {
    name: 'a line break in an address adds no header to a mail',
    attempt: () => by('google', verifiedClaims('a@example.com\r\nBcc: b@example.com')),
    expected: asksForAddress,
  },
  {
    name: 'userinfo of 1 MB is refused',
    attempt: () =>
      by(
        'corp',
        { sub: newSubject() },
        { userinfo: { body: JSON.stringify({ sub: 'x', name: 'x'.repeat(1_000_000) }) } },
      ),
    expected: /does not answer|could not/,
  },
  {
    name: '`email_verified` on the prototype of userinfo verifies nothing',
    attempt: async () => {
      const { email } = await account()
      const sub = newSubject()
      const body = `{"sub":"${sub}","email":"${email}","__proto__":{"email_verified":true}}`
      return by('corp', { sub }, { userinfo: { body } })
    },
    expected: asksForAddress,
  },
  {
    name: 'userinfo of another subject than the token’s is refused',
    attempt: () =>
      by(
        'corp',
        { sub: newSubject() },
        { userinfo: { body: JSON.stringify(verifiedClaims(fixture.email())) } },
      ),
    expected: refused,
  },
  {
    name: 'a redirect of the token endpoint is not followed',
    attempt: async () => {
      const answer = { status: 302, headers: { location: 'http://169.254.169.254/' } }
      const result = await by('corp', verifiedClaims(fixture.email()), { answer })
      assert.ok(!fixture.providers.requests.some(url => url.includes('169.254')))
      return result
    },
    expected: refused,
  },
  {
    name: 'an HTML response of the token endpoint is refused',
    attempt: () =>
      by('corp', verifiedClaims(fixture.email()), { answer: { type: 'text/html', body: '<h1>No</h1>' } }),
    expected: refused,
  },
  {
    name: 'an error response of GitHub with status 200 is refused',
    attempt: () => githubBy({ id: 99 }, { answer: { body: '{"error":"bad_verification_code"}' } }),
    expected: refused,
  },
  {
    name: 'a GitHub user without an id is refused',
    attempt: () => githubBy({ login: 'ada' }),
    expected: refused,
  },
  {
    name: 'a GitHub user whose id is a string is refused',
    attempt: () => githubBy({ id: '1', login: 'ada' }),
    expected: refused,
  },
  {
    name: 'a GitHub login that another user has taken over is another identity',
    attempt: async () => {
      const emails = (email: string) => [{ email, primary: true, verified: true }]
      const [mine, theirs] = [fixture.email(), fixture.email()]
      await githubBy({ id: 1000, login: 'ada' }, { emails: emails(mine) })
      return { ...(await githubBy({ id: 1001, login: 'ada' }, { emails: emails(theirs) })), as: theirs }
    },
    expected: /Your account/,
  },
]

/** Asks for an account with an address that the provider has not verified. */
async function sentTo(email: string): Promise<void> {
  const { browser, shown } = await by('google', verifiedClaims(email, { email_verified: false }))
  await browser.submit(formWithField(shown as Page, 'email'), { email })
}

for (const [index, { name, attempt, expected }] of attempts.entries()) {
  test(`${index + 1}. ${name}`, async () => {
    const { shown, browser, as } = await attempt()
    assert.match(`${textOf(shown)}`, expected)
    assert.equal(await signedInEmail(browser), as)
  })
}

test('with sign-up off, a provider creates no account', async () => {
  const closed = await openFixture({ 'accounts.signUp': 'off' })
  try {
    const browser = closed.browser()
    const shown = await signIn(closed, browser, 'google', verifiedClaims('new@example.com'))
    assert.match(textOf(shown), /You have no account here/)
    assert.equal(await closed.find('new@example.com'), undefined)
    assert.equal(await signedInEmail(browser), undefined)
  } finally {
    await closed.close()
  }
})
