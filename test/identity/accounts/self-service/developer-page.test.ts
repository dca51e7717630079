/** `/account/developer`: a user registers an app, and the samples on its page work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineFaults, linesOf } from '../../../../src/identity/accounts/self-service/redirect-uri-lines.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import type { Page } from '../../conformance/browser.ts'
import {
  authorize,
  type Fixture,
  type Person,
  post,
  redirectUri,
  sharedFixtures,
} from '../../conformance/server.ts'
import { open } from '../mail-fixture.ts'
import { advance, formTo, inputValue, signIn, submitForm } from './own-pages.ts'

/** Only apps have a limit, so that no test meets it. */
const rateLimit = { user: 'off', app: 12_000, address: 'off', token: 'off' } as const
const withFixture = sharedFixtures(sqlite, { rateLimit })
const path = '/account/developer'

async function register(
  fixture: Fixture,
  person: Person,
  values: Readonly<Record<string, string | readonly string[]>> = {},
) {
  const { visitor, landed } = await signIn(fixture, person, `${path}/new`)
  const formValues = { name: 'Reader', uris: redirectUri, 'level-post': 'write', ...values }
  return { visitor, created: await submitForm(visitor, formTo(landed, `${path}/new`), formValues) }
}

/** The text of a sample, as copied. */
function sample({ text }: Page, id: string): string {
  const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>([\\s\\S]*?)</code>`).exec(text) ?? []
  return code.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

async function codeBy(fixture: Fixture, page: Page): Promise<string> {
  const left = await authorize(fixture.browser(), sample(page, 'authorize'), fixture.ann)
  return left.searchParams.get('code') ?? assert.fail(left.href)
}

test('registering an app shows its secret once and samples that obtain a token', async () => {
  await withFixture(async fixture => {
    const { visitor, created } = await register(fixture, fixture.ben)
    const secret = inputValue(created, 'client_secret') ?? ''
    const client_id = inputValue(created, 'client_id') ?? ''
    assert.match(secret, /^ps_/)
    assert.ok(!(await open(visitor, created.url)).text.includes(secret))
    const code = await codeBy(fixture, created)
    const request = sample(created, 'token')
    assert.match(request, /^curl -X POST "http[^"]*\/oauth\/token" \\\n {2}-d grant_type=authorization_code/)
    const body = { grant_type: 'authorization_code', client_id, code, redirect_uri: redirectUri }
    const token = await post(`${fixture.url}/oauth/token`, { ...body, client_secret: secret })
    assert.equal(token.status, 200, token.text)
    assert.equal(token.json.scope, 'openid,profile,email,write:post')
    for (const [name, value] of Object.entries(body))
      assert.ok(request.includes(name === 'code' ? 'code="$CODE"' : value), name)

    const list = await open(visitor, path)
    assert.match(list.text, /<bdi>Reader<\/bdi>/)
    const elsewhere = await signIn(fixture, fixture.ann, created.url.pathname)
    assert.equal(elsewhere.landed.status, 404)
  })
})

test('a new secret works together with the old one, which can be ended by name; a public app has none', async () => {
  await withFixture(async fixture => {
    const { visitor, created } = await register(fixture, fixture.ben)
    const app = created.url.pathname
    const old = inputValue(created, 'client_secret') ?? ''
    const client_id = inputValue(created, 'client_id') ?? ''
    assert.match(created.text, /works for 1 day more/)
    const rotated = await submitForm(visitor, formTo(created, app, 'new-secret'))
    const fresh = inputValue(rotated, 'client_secret') ?? ''
    assert.notEqual(fresh, old)
    const works = async (client_secret: string) => {
      const form = { grant_type: 'client_credentials', client_id, client_secret, scope: 'read:post' }
      return (await post(`${fixture.url}/oauth/token`, form)).status
    }
    assert.deepEqual([await works(old), await works(fresh)], [200, 200])
    const ends = [...rotated.text.matchAll(/href="([^"]*\/secrets\/\d+\/end)"/g)].map(([, href]) => href)
    assert.equal(ends.length, 2)
    const confirmation = await open(visitor, ends[1] ?? '')
    assert.ok(confirmation.text.includes(`${old.slice(0, 10)}…`))
    assert.doesNotMatch(confirmation.text, /the only one that works/)
    const ended = await submitForm(visitor, formTo(confirmation, confirmation.url.pathname))
    assert.match(ended.text, /The secret has ended/)
    assert.deepEqual([await works(old), await works(fresh)], [401, 200])
    assert.match((await open(visitor, ends[0] ?? '')).text, /the only one that works/)
    assert.equal((await open(visitor, ends[1] ?? '')).status, 404)

    const open_ = await submitForm(visitor, formTo(await open(visitor, `${path}/new`), `${path}/new`), {
      name: 'Phone',
      type: 'public',
      uris: 'com.example.app:/callback',
      access: 'any',
    })
    assert.equal(inputValue(open_, 'client_secret'), undefined)
    assert.doesNotMatch(open_.text, /Client secrets/)
    assert.match(sample(open_, 'authorize'), /code_challenge=\$CODE_CHALLENGE&code_challenge_method=S256/)
    assert.match(sample(open_, 'token'), /code_verifier="\$CODE_VERIFIER"/)
  })
})

test('each invalid redirect URI is reported with its line, and the input is kept', async () => {
  await withFixture(async fixture => {
    const uris =
      'https://app.example.com/callback\r\n\r\nhttp://app.example.com/"><script>\r\nhttps://x.example.com/#part'
    const { visitor, created } = await register(fixture, fixture.ben, {
      name: 'Portico',
      uris,
      logo: 'http://10.0.0.1/logo.png',
      scope: ['openid'],
      'level-user': 'read',
    })
    assert.equal(created.status, 400)
    assert.match(
      created.text,
      /Line 3: “http:\/\/app\.example\.com\/&quot;&gt;&lt;script&gt;” begins with http/,
    )
    assert.match(created.text, /Line 4: “https:\/\/x\.example\.com\/#part” has a fragment/)
    assert.doesNotMatch(created.text, /Line 1:/)
    assert.match(created.text, /id="logo-fault"/)
    const sent = formTo(created, `${path}/new`)
    assert.equal(
      sent.fields
        .find(({ name }) => name === 'uris')
        ?.value.replaceAll('\n', '\r\n')
        .replaceAll('\r\r', '\r'),
      uris,
    )
    assert.match(created.text, /id="level-user-read" name="level-user" value="read" checked/)
    const named = await submitForm(visitor, sent, { uris: redirectUri, logo: '' })
    assert.match(named.text, /id="name-fault">The name must not resemble that of this service/)
    const empty = await submitForm(visitor, sent, { name: '', type: 'other', uris: redirectUri, logo: '' })
    assert.match(empty.text, /id="name-fault">Enter a name/)
  })
})

test('only its owner edits and deletes an app, and deletion needs a recent sign-in', async () => {
  await withFixture(async fixture => {
    const { visitor, created } = await register(fixture, fixture.ben, { name: 'ا'.repeat(100) })
    const app = created.url.pathname
    const code = await codeBy(fixture, created)
    const redeemed = await post(`${fixture.url}/oauth/token`, {
      client_id: inputValue(created, 'client_id') ?? '',
      client_secret: inputValue(created, 'client_secret') ?? '',
      code,
      redirect_uri: redirectUri,
    })
    const key = String(redeemed.json.access_token)
    assert.equal((await fixture.call('/api/v1/posts', { key })).status, 200)
    const editing = formTo(await open(visitor, `${app}/edit`), `${app}/edit`)
    assert.ok(!editing.fields.some(({ name }) => name === 'type'))
    const saved = await submitForm(visitor, editing, {
      name: 'Writer',
      'level-post': 'none',
      'level-user': 'read',
      homepage: 'https://writer.example.com',
    })
    assert.match(saved.text, /Your changes are saved/)
    assert.match(saved.text, /<li>See users<\/li>/)
    // Live tokens lose the scope at once.
    const token = await fixture.call('/api/v1/posts', { key })
    assert.equal(token.status, 403)
    const stranger = await signIn(fixture, fixture.ann, path)
    for (const below of ['', '/edit', '/delete'])
      assert.equal((await open(stranger.visitor, app + below)).status, 404)
    const confirmation = await open(visitor, `${app}/delete`)
    advance(16 * 60_000)
    const confirming = await submitForm(visitor, formTo(confirmation, `${app}/delete`))
    assert.equal(confirming.url.pathname, '/account/sign-in')
    const { email, password } = fixture.ben
    const again = await submitForm(visitor, formTo(confirming, '/account/sign-in'), { email, password })
    const deleted = await submitForm(visitor, formTo(again, `${app}/delete`))
    assert.match(deleted.text, /The app is deleted/)
    assert.equal((await open(visitor, app)).status, 404)
    assert.equal((await fixture.call('/api/v1/posts', { key })).status, 401)
  })
})

test('the form has every setting of the app, and its page counts the connected users', async () => {
  await withFixture(async fixture => {
    const { visitor, created } = await register(fixture, fixture.ben, {
      scope: ['openid', 'profile'],
      'default-scopes': 'openid read:user no:scope',
      defaults: 'some',
      'first-party': 'yes',
      policy: 'javascript:alert(1)',
    })
    assert.match(created.text, /id="policy-fault"/)
    assert.match(created.text, /id="default-scopes-fault">There is no scope no:scope/)
    assert.match(created.text, /<details class="card settings" open>/)
    const sent = formTo(created, `${path}/new`)
    const beyond = await submitForm(visitor, sent, { 'default-scopes': 'openid, read:user', policy: '' })
    assert.match(beyond.text, /id="default-scopes-fault">The app may not ask for read:user/)
    const any = await submitForm(visitor, sent, { defaults: 'all', access: 'any' })
    assert.match(any.text, /id="default-scopes-fault">The app may ask for anything/)
    const extra = { name: 'first-party', type: 'text', value: 'yes', checked: false }
    const forged = { ...sent, fields: [...sent.fields, extra] }
    const app = await submitForm(visitor, forged, {
      'default-scopes': 'read:post openid openid',
      'token-format': 'jwt',
      policy: 'https://reader.example.com/privacy',
      terms: 'https://reader.example.com/terms',
      separator: ' ',
    })
    const item = async () => {
      const { json } = await fixture.call('/api/v1/oauth_apps', { key: fixture.ben.key })
      const rows = json.data as readonly (Record<string, unknown> & { id: number })[]
      return rows.find(({ id }) => app.url.pathname === `${path}/${id}`) ?? assert.fail()
    }
    const { default_scopes, access_token_format, scope_separator, first_party } = await item()
    assert.deepEqual(
      { default_scopes, access_token_format, scope_separator, first_party },
      {
        default_scopes: ['read:post', 'openid'],
        access_token_format: 'jwt',
        scope_separator: ' ',
        // Only administrators can make an app first-party.
        first_party: false,
      },
    )
    assert.match(app.text, /<dt>Connected by<\/dt><dd>Nobody yet</)
    assert.match(app.text, /<dt>Requests per minute<\/dt><dd>12,000, for all people who have connected it</)
    assert.match(app.text, /<dt>Terms of service<\/dt><dd><a href="https:\/\/reader\.example\.com\/terms"/)
    await codeBy(fixture, app)
    await codeBy(fixture, app)
    assert.match((await open(visitor, path)).text, /<dt>Connected by<\/dt><dd>1 person</)
    const edit = await open(visitor, `${app.url.pathname}/edit`)
    assert.doesNotMatch(edit.text, /name="first-party"/)
    const all = await submitForm(visitor, formTo(edit, edit.url.pathname), { defaults: 'all' })
    assert.match(all.text, /<dd>1 person</)
    assert.deepEqual(
      new Set((await item()).default_scopes as string[]),
      new Set(['openid', 'profile', 'write:post']),
    )
    const again = await open(visitor, edit.url.pathname)
    assert.match(again.text, /name="defaults" value="all" checked/)

    const ofAnn = await signIn(fixture, fixture.ann, '/account/apps')
    const client_id = inputValue(app, 'client_id') ?? ''
    const disconnect = ofAnn.landed.forms.find(({ fields }) =>
      fields.some(({ value }) => value === client_id),
    )
    assert.ok(disconnect)
    await submitForm(ofAnn.visitor, disconnect)
    assert.match((await open(visitor, app.url.pathname)).text, /<dd>Nobody yet</)
  })
})

test('an administrator makes an app part of the service with the same form', async () => {
  await withFixture(async fixture => {
    const { created } = await register(fixture, fixture.admin, { 'first-party': 'yes', defaults: 'all' })
    assert.match(created.text, /Nobody is asked: the app is part of this service/)
    assert.doesNotMatch(created.text, /Requests per minute/)
    await codeBy(fixture, created)
  })
})

test('each kind of invalid redirect URI has its own reason', () => {
  const faulty: readonly (readonly [uri: string, reason: RegExp])[] = [
    ['app.example.com/callback', /the whole address/],
    ['https://app.example.com/a b', /a space/],
    ['https://user@app.example.com/', /a user name/],
    ['https://App.example.com/', /capital letters/],
    ['HTTPS://app.example.com/', /capital letters/],
    ['http://localhost.example.com/', /use https/],
    ['javascript:alert(1)', /a scheme without a dot/],
    ['myapp:/callback', /a scheme without a dot/],
    ['https://1.2.3.999/', /not a valid address/],
    ['https://app.example.com:99999/', /port of at most 65535/],
    [`https://app.example.com/${'x'.repeat(2048)}`, /longer than 2048/],
  ]
  for (const [uri, reason] of faulty) assert.match(lineFaults(linesOf(uri)) ?? uri, reason)
  assert.match(
    lineFaults(linesOf(`${redirectUri}\n\n${redirectUri}`)) ?? '',
    /Line 3: .* is the same as line 1/,
  )
  const fine = 'https://app.example.com/A?b=c\nhttp://[::1]:3000/\ncom.example.app:/callback'
  assert.equal(lineFaults(linesOf(fine)), undefined)
})
