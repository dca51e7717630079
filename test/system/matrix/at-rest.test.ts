/** No secret that the service has created or shown is contained in the bytes of its database. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { loadKeys } from '../../../src/identity/server/tokens/signing-keys.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { Browser, type Departure, type Page } from '../../identity/conformance/browser.ts'
import {
  authorizationUrl,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  newTokens,
  type Person,
  post,
  redirectUri,
  withFixture,
} from '../../identity/conformance/server.ts'
import { recordsOfOtherProcess } from '../../identity/encryption/other-process.ts'
import blog from '../../models/blog.ts'

type Secrets = Map<string, string>

/** A browser that collects the secrets of its pages and cookies. */
class SecretCollector extends Browser {
  readonly #secrets: Secrets

  constructor(origin: string, secrets: Secrets) {
    super(origin)
    this.#secrets = secrets
  }

  override async send(url: URL, sent: Parameters<Browser['send']>[1]) {
    const answer = await super.send(url, sent)
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      this.note(`cookie ${name}`, value)
    }
    for (const [, name = '', value = ''] of answer.text.matchAll(
      /type="hidden" name="(\w+)" value="([^"]+)"/g,
    ))
      if (/csrf|xsrf|second_factor/.test(name)) this.note(`form ${name}`, value)
    return answer
  }

  note(name: string, value: string): void {
    if (value.length >= 6) this.#secrets.set(`${name} ${this.#secrets.size}`, value)
  }
}

/** A text in every encoding in which it could be stored. */
function spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const jwk = Buffer.from(secret, 'base64url')
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    ...(jwk.length >= 16
      ? [jwk.toString('base64').replace(/=+$/, ''), jwk.toString('hex'), jwk.toString('latin1')]
      : []),
    encodeURIComponent(secret),
  ]
}

/** The files on a stolen disk, except the key file. */
function bytesOf(file: string): string {
  return [file, `${file}-wal`, `${file}-journal`]
    .filter(existsSync)
    .map(path => readFileSync(path, 'latin1'))
    .join('\n')
}

async function turnOnCodes(browser: SecretCollector, person: Person): Promise<void> {
  const landed = await browser.open('/account/security')
  const signIn = 'text' in landed ? formWith(landed, 'password') : undefined
  assert.ok(signIn)
  const page = await browser.submit(signIn, { email: person.email, password: person.password })
  assert.ok('text' in page)
  const start = page.forms.find(({ fields }) => fields.some(({ value }) => value === 'start-totp'))
  assert.ok(start, page.text)
  const signedIn = await browser.submit(start)
  assert.ok('text' in signedIn)
  const [, secret = ''] = /class="secret">([A-Z2-7 ]+)</.exec(signedIn.text) ?? []
  const plain = secret.replaceAll(' ', '')
  assert.match(plain, /^[A-Z2-7]{16,}$/)
  browser.note('TOTP', plain)
  browser.note('TOTP bytes', Buffer.from(Secret.fromBase32(plain).buffer).toString('base64url'))
  const confirm = signedIn.forms.find(({ fields }) => fields.some(({ name }) => name === 'code'))
  assert.ok(confirm)
  const confirmation = await browser.submit(confirm, {
    code: new TOTP({ secret: Secret.fromBase32(plain) }).generate(),
  })
  assert.ok('text' in confirmation)
  const codes = [...confirmation.text.matchAll(/<li>([a-z0-9]{5}-[a-z0-9]{5})<\/li>/g)].map(
    ([, code = '']) => code,
  )
  assert.equal(codes.length, 10, confirmation.text)
  for (const code of codes) {
    browser.note('recovery code', code)
    // Of so short a code, the hash could be reversed.
    browser.note('recovery hash', hash('sha256', `${person.id}:${code.replace('-', '')}`, 'base64url'))
  }
}

async function useEverything(fixture: Fixture, secrets: Secrets): Promise<void> {
  const { url, ann, ben } = fixture
  const note = (name: string, value: unknown) => {
    assert.ok(typeof value === 'string' && value.length >= 6, name)
    secrets.set(`${name} ${secrets.size}`, value)
  }
  const browser = new SecretCollector(url, secrets)
  try {
    const app = await fixture.app({ default_scopes: ['openid', 'offline_access', 'read:post'] })
    note('client secret', app.client_secret)
    const jwtApp = await fixture.app({ access_token_format: 'jwt' })
    for (const oauthApp of [app, jwtApp]) {
      const tokens = await newTokens(fixture, oauthApp, {
        browser,
        person: ann,
        scope: 'openid offline_access read:post',
        parameters: { prompt: 'consent' },
      })
      note('access token', tokens.access_token)
      note('refresh token', tokens.refresh_token)
      note('ID token', tokens.id_token)
    }
    const pushed = await post(`${url}/oauth/par`, {
      ...clientCredentials(app),
      redirect_uri: redirectUri,
      scope: 'read:post',
      response_type: 'code',
      login_hint: 'somebody@example.com',
    })
    note('pushed request', String(pushed.json.request_uri).split(':').at(-1))
    const device = await post(`${url}/oauth/device`, { ...clientCredentials(app), scope: 'read:post' })
    note('device code', device.json.device_code)
    note('user code', device.json.user_code)
    const otherAnswer = await post(`${url}/oauth/device`, { ...clientCredentials(app), scope: 'read:post' })
    note('user code', String(otherAnswer.json.user_code).replaceAll('-', ''))
    note('user code', otherAnswer.json.user_code)
    const verify = await browser.open(`/oauth/device?user_code=${otherAnswer.json.user_code}`)
    assert.ok('text' in verify)
    // An interaction that waits for its user.
    const waiting = new SecretCollector(url, secrets)
    await waiting.open(
      authorizationUrl(url, { client_id: app.client_id, redirect_uri: redirectUri, scope: 'read:post' }),
    )
    waiting.close()
    await turnOnCodes(new SecretCollector(url, secrets), ben)
    const key = await fixture.call('/api/v1/api_keys', {
      method: 'POST',
      key: ann.key,
      body: { name: 'another' },
    })
    note('API key', key.json.key)
    const body = { url: 'https://example.com/hook', types: ['*'] }
    const webhook = await fixture.call('/api/v1/webhooks', { method: 'POST', key: ann.key, body })
    note('webhook secret', webhook.json.secret)
    const rotate = `/api/v1/webhooks/${webhook.json.id}/rotate_secret`
    note('webhook secret', (await fixture.call(rotate, { method: 'POST', key: ann.key })).json.secret)
    for (const person of [ann, ben]) {
      note('password', person.password)
      note('API key', person.key)
    }
  } finally {
    browser.close()
  }
}

async function privateKeys(file: string, secrets: Secrets): Promise<void> {
  const store = openSqlite(checkModel(blog), { file })
  try {
    const records = await recordsOfOtherProcess(store, { database: file, settings: {} })
    for (const { jwk } of await loadKeys(records)) {
      for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const)
        if (jwk[part] !== undefined) secrets.set(`${jwk.alg} ${part}`, jwk[part])
    }
  } finally {
    await store.close()
  }
}

test('no secret is contained in the database, in any encoding', async t => {
  await withFixture({}, async fixture => {
    const secrets: Secrets = new Map()
    await useEverything(fixture, secrets)
    const during = bytesOf(fixture.deployment.database)
    await privateKeys(fixture.deployment.database, secrets)
    await fixture.restart()
    const bytes = during + bytesOf(fixture.deployment.database)
    // Texts that are not secret are found, so a secret would be.
    for (const open of [
      fixture.ann.email,
      'SigningKeys',
      'Totp',
      'RecoveryCode',
      'DeviceCode',
      'Interaction',
      'WebhookSecret',
    ])
      assert.ok(bytes.includes(open), open)
    t.diagnostic(`${secrets.size} secrets`)
    for (const kind of [
      'ES256 d',
      'RS256 d',
      'TOTP',
      'recovery code',
      'user code',
      'cookie portico_session',
      'form csrf',
    ])
      assert.ok(
        [...secrets.keys()].some(name => name.startsWith(kind)),
        kind,
      )
    for (const [name, secret] of secrets)
      for (const spelling of spellings(secret)) assert.ok(!bytes.includes(spelling), `${name}: ${spelling}`)
  })
})

test('the device flow, consent and one-time codes work with encrypted records across a restart', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const { url, ann } = fixture
    const device = await post(`${url}/oauth/device`, { ...clientCredentials(app), scope: 'read:post' })
    const browser = fixture.browser()
    const secrets: Secrets = new Map()
    const collector = new SecretCollector(url, secrets)
    await turnOnCodes(collector, fixture.ben)
    collector.close()
    await fixture.restart()
    let page: Page | Departure = await browser.open(`/oauth/device?user_code=${device.json.user_code}`)
    for (let step = 0; step < 5 && 'text' in page; step++) {
      if (page.text.includes('is connected')) break
      const password = formWith(page, 'password')
      const { form, button } = consentOf(page) ?? { form: page.forms[0], button: undefined }
      assert.ok(form, page.text)
      page = password
        ? await browser.submit(password, { email: ann.email, password: ann.password })
        : await browser.submit(form, {}, button)
    }
    assert.ok(
      'text' in page && page.text.includes('is connected'),
      'text' in page ? page.text : page.location.href,
    )
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const device_code = String(device.json.device_code)
    const token = await post(`${url}/oauth/token`, { ...clientCredentials(app), grant_type, device_code })
    assert.equal(token.status, 200, token.text)
    const [recovery = ''] = [...secrets]
      .filter(([name]) => name.startsWith('recovery code'))
      .map(([, code]) => code)
    const visitor = fixture.browser()
    const signIn = await visitor.open('/account/sign-in')
    assert.ok('text' in signIn)
    const form = formWith(signIn, 'password')
    assert.ok(form)
    const second = await visitor.submit(form, { email: fixture.ben.email, password: fixture.ben.password })
    assert.ok('text' in second)
    const code = second.forms.find(({ fields }) => fields.some(({ name }) => name === 'code'))
    assert.ok(code, second.text)
    const landed = await visitor.submit(code, { code: recovery })
    assert.ok('text' in landed && landed.url.pathname === '/account', landed.toString())
  })
})
