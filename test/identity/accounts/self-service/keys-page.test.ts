/** `/account/keys`: a user creates their first key without an operator, and no form grants more than the API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../../../server/serve/service.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import { type Fixture, newTokens, type Person, sharedFixtures } from '../../conformance/server.ts'
import { open, page } from '../mail-fixture.ts'
import { advance, formTo, inputValue, signIn, submitForm } from './own-pages.ts'

const withFixture = sharedFixtures(sqlite, { quotas: { keys: 4 } })
const path = '/account/keys'
const minuteMs = 60_000

async function createKey(fixture: Fixture, person: Person, values: Readonly<Record<string, string>>) {
  const { visitor, landed } = await signIn(fixture, person, `${path}/new`)
  return {
    visitor,
    created: await submitForm(visitor, formTo(landed, `${path}/new`), { name: 'a key', ...values }),
  }
}

async function keysOf({ call: request }: Fixture, { key }: Person) {
  const { json } = await request('/api/v1/api_keys', { key })
  return json.data as readonly { name: string; scopes: string[]; expires_at: string | null }[]
}

test('a new key has the chosen name and scopes, is shown once, works in its curl sample, and can be revoked', async () => {
  await withFixture(async fixture => {
    const { visitor, created } = await createKey(fixture, fixture.ben, {
      name: 'Backup',
      'level-post': 'read',
    })
    assert.match(created.url.pathname, /^\/account\/keys\/\d+$/)
    assert.match(String(created.headers['cache-control']), /no-store/)
    const key = inputValue(created, 'key') ?? ''
    const [, address = '', inCurl] =
      /curl &quot;([^&]+)&quot; [^"]*Bearer (pk_\w+)&quot;/.exec(created.text) ?? []
    assert.equal(inCurl, key)
    assert.match((await open(visitor, path)).text, /<dt>Last used<\/dt><dd>Not yet</)
    assert.equal((await call(address, { key })).status, 200)
    assert.match(created.text, /See posts/)
    // A shutdown stores the last use, which is written in the background.
    await fixture.restart()
    assert.match((await open(visitor, path)).text, /<dt>Last used<\/dt><dd><time/)
    // A reload shows the list and creates no second key.
    const again = await open(visitor, created.url)
    assert.equal(again.url.pathname, path)
    assert.doesNotMatch(again.text, new RegExp(key))
    const rows = (await keysOf(fixture, fixture.ben)).filter(({ name }) => name === 'Backup')
    assert.deepEqual(rows[0]?.scopes, ['read:post'])
    assert.equal(Math.round((Date.parse(rows[0]?.expires_at ?? '') - Date.now()) / 86_400_000), 90)
    assert.equal(rows.length, 1)

    const confirmation = await open(visitor, `${created.url.pathname}/revoke`)
    assert.match(confirmation.text, /Revoke <bdi>Backup<\/bdi>\?/)
    assert.ok(confirmation.text.includes(`${key.slice(0, 10)}…`))
    const done = await submitForm(visitor, formTo(confirmation, confirmation.url.pathname))
    assert.match(done.text, /The key is revoked/)
    assert.equal((await call(address, { key })).status, 401)
  })
})

test('a new key is shown only to the session that created it', async () => {
  await withFixture(async fixture => {
    const { ben, ann } = fixture
    const first = await signIn(fixture, ben, `${path}/new`)
    const sent = formTo(first.landed, `${path}/new`)
    const body = new URLSearchParams([
      ...sent.fields.filter(({ type }) => type !== 'radio').map(({ name, value }) => [name, value]),
      ['name', 'x'],
    ])
    body.set('name', 'Mine')
    body.set('end', 'never')
    body.set('access', 'all')
    const answer = await first.visitor.send(sent.action, {
      method: 'POST',
      body: body.toString(),
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: fixture.url,
        'Sec-Fetch-Site': 'same-origin',
      },
    })
    assert.equal(answer.status, 303)
    const target = String(answer.headers.location)
    assert.doesNotMatch(`${answer.text}${JSON.stringify(answer.headers)}`, /pk_/)
    const dump = await fixture.deployment.dump()
    assert.match(dump, /ShownOnce/)
    const foreign = await signIn(fixture, ann, target)
    assert.equal(foreign.landed.status, 404)
    const elsewhere = await signIn(fixture, ben, target)
    assert.equal(elsewhere.landed.url.pathname, path)
    // HEAD shows nothing, so it does not use up the one view.
    await first.visitor.send(new URL(target, fixture.url), { method: 'HEAD' })
    const key = inputValue(await open(first.visitor, target), 'key')
    assert.match(key ?? '', /^pk_/)
    // The record is encrypted at rest.
    assert.ok(!dump.includes(key ?? ''))
    const [mine] = (await keysOf(fixture, ben)).filter(({ name }) => name === 'Mine')
    assert.deepEqual([mine?.scopes, mine?.expires_at], [['*'], null])
    // A key of another user can be neither revoked nor viewed.
    assert.equal((await open(foreign.visitor, `${target}/revoke`)).status, 404)
  })
})

test('faults are shown at their fields, with the input preserved and escaped', async () => {
  await withFixture(async fixture => {
    const hostile = `<script>alert(1)</script>"' ${'ا'.repeat(60)}`
    const { visitor, created } = await createKey(fixture, fixture.ben, {
      name: hostile,
      end: 'date',
      date: '2020-01-01',
      'level-user': 'read',
      access: 'some',
    })
    assert.equal(created.status, 400)
    assert.match(created.text, /id="date-fault">Enter a future date/)
    assert.doesNotMatch(created.text, /<script>alert/)
    assert.equal(inputValue(created, 'level-user-read'), undefined)
    assert.match(created.text, /id="level-user-read" name="level-user" value="read" checked/)
    assert.match(created.text, /<title>Error: /)
    const sent = formTo(created, `${path}/new`)
    assert.equal(sent.fields.find(({ name }) => name === 'name')?.value, hostile)
    const noDay = await submitForm(visitor, sent, { end: 'date', date: '2031-02-30' })
    assert.match(noDay.text, /id="date-fault">/)
    const none = await submitForm(visitor, sent, { name: ' ', 'level-user': 'none', end: 'soon' })
    assert.match(none.text, /id="name-fault"/)
    assert.match(none.text, /id="access-fault"/)
    assert.match(none.text, /id="end-fault"/)
    const unseen = await submitForm(visitor, sent, { name: 'a\u202eb', end: '30', 'level-user': 'read' })
    assert.match(unseen.text, /id="name-fault">[^<]*single line/)
    const named = await submitForm(visitor, sent, { end: '30' })
    assert.equal(named.status, 200)
    const list = await open(visitor, path)
    assert.ok(list.text.includes('<bdi>&lt;script&gt;alert(1)'))
  })
})

test('no form grants a scope that is not offered, exceeds the limit, or works without its token', async () => {
  await withFixture(async fixture => {
    const { ben } = fixture
    const { visitor, landed } = await signIn(fixture, ben, `${path}/new`)
    // Only the service itself writes deliveries.
    assert.match(landed.text, /name="level-webhook_delivery" value="read"/)
    assert.doesNotMatch(landed.text, /name="level-webhook_delivery" value="write"/)
    const sent = formTo(landed, `${path}/new`)
    const extra = { name: 'level-webhook_delivery', type: 'text', value: 'write', checked: false }
    const forged = await submitForm(
      visitor,
      { ...sent, fields: [...sent.fields.filter(({ name }) => name !== extra.name), extra] },
      { name: 'x' },
    )
    assert.match(forged.text, /Choose at least one permission for the key/)
    const withoutToken = { ...sent, fields: sent.fields.filter(({ name }) => name !== 'csrf') }
    const refused = await submitForm(visitor, withoutToken, { name: 'x', 'level-post': 'read' })
    assert.equal(refused.status, 403)
    for (let count = 1; count < 4; count++) {
      const created = await submitForm(visitor, sent, { name: 'x', 'level-post': 'read' })
      assert.equal(created.status, 200, created.text)
    }
    const full = await submitForm(visitor, sent, { name: 'x', 'level-post': 'read' })
    assert.equal(full.status, 400)
    assert.match(full.text, /You may have at most 4 API keys/)
    assert.equal((await keysOf(fixture, ben)).length, 4)
  })
})

test('a session with an older sign-in must sign in again, and for a minute after a password change no key is created', async () => {
  await withFixture(async fixture => {
    const { ben } = fixture
    const { visitor, landed } = await signIn(fixture, ben, `${path}/new`)
    const sent = formTo(landed, `${path}/new`)
    advance(16 * minuteMs)
    const signInPage = await submitForm(visitor, sent, { name: 'x', 'level-post': 'read' })
    assert.deepEqual(
      [signInPage.url.pathname, signInPage.url.searchParams.get('next')],
      ['/account/sign-in', `${path}/new`],
    )
    assert.equal((await keysOf(fixture, ben)).length, 1)
    const { email, password } = ben
    const again = page(await visitor.submit(formTo(signInPage, '/account/sign-in'), { email, password }))
    assert.equal(again.url.pathname, `${path}/new`)
    const created = await submitForm(visitor, formTo(again, `${path}/new`), {
      name: 'x',
      'level-post': 'read',
    })
    assert.match(inputValue(created, 'key') ?? '', /^pk_/)
    // A password that was changed a moment ago: see keys-after-end.ts.
    const security = await open(visitor, '/account/security')
    const changed = await submitForm(visitor, formTo(security, '/account/security', 'password'), {
      current_password: password,
      new_password: 'a staple in the meadow',
    })
    assert.match(changed.text, /Your password is changed/)
    const early = await submitForm(visitor, formTo(await open(visitor, `${path}/new`), `${path}/new`), {
      name: 'kept name',
      'level-post': 'read',
    })
    assert.equal(early.status, 400)
    assert.match(early.text, /try again in a minute/)
    assert.match(early.text, /value="kept name"/)
  })
})

test('the documentation links to the form for a new key', async () => {
  await withFixture(async fixture => {
    const docs = await fixture.call('/docs', { headers: { Accept: 'text/html' } })
    assert.match(docs.text, /href="\/account\/keys\/new"/)
  })
})

const appScopes = 'openid offline_access read:user read:post write:api_key write:webhook'

async function createdWith(url: string, key: string, name: string): Promise<{ id: number; key: string }> {
  const created = await call(`${url}/api/v1/api_keys`, { method: 'POST', key, body: { name } })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as { id: number; key: string }
}

test('the page shows which app or key made a key, and revokes a key with all that it made, over keys that are gone', async () => {
  await withFixture(async fixture => {
    const { url, cleo } = fixture
    const own = await createdWith(url, cleo.key, 'Own')
    const second = await createdWith(url, own.key, 'Second')
    const third = await createdWith(url, second.key, 'Third')
    const hook = { url: 'https://example.com/hook', types: ['post.*'] }
    const made = await call(`${url}/api/v1/webhooks`, { method: 'POST', key: third.key, body: hook })
    assert.equal(made.status, 201, made.text)
    const removed = await call(`${url}/api/v1/api_keys/${second.id}`, { method: 'DELETE', key: cleo.key })
    assert.equal(removed.status, 204)
    const { visitor, landed } = await signIn(fixture, cleo, path)
    assert.match(landed.text, /<bdi>Third<\/bdi>[\s\S]*<dt>Made by<\/dt><dd>a key that is gone</)
    assert.match(landed.text, /<bdi>Own<\/bdi>[\s\S]*<dt>Made by<\/dt><dd>the key <bdi>all<\/bdi>/)
    const confirmation = await open(visitor, `${path}/${own.id}/revoke`)
    assert.match(confirmation.text, /Also delete all that it made: 1 key and 1 webhook/)
    const form = formTo(confirmation, confirmation.url.pathname)
    await submitForm(visitor, form, { made: 'yes' })
    for (const key of [own.key, third.key])
      assert.equal((await call(`${url}/api/v1/me`, { key })).status, 401)
    const left = await call(`${url}/api/v1/webhooks/${made.json.id}`, { key: cleo.key })
    assert.equal(left.status, 404)
    assert.deepEqual(
      (await keysOf(fixture, cleo)).map(({ name }) => name),
      ['all'],
    )
  })
})

test('the page names the app that made a key', async () => {
  await withFixture(async fixture => {
    const { url, ben } = fixture
    const app = await fixture.app({ name: 'Diary', scopes: appScopes.split(' ') })
    const options = { browser: fixture.browser(), person: ben, scope: appScopes }
    const { access_token: token = '' } = await newTokens(fixture, app, options)
    const first = await createdWith(url, token, 'First')
    await createdWith(url, first.key, 'Next')
    const { landed } = await signIn(fixture, ben, path)
    assert.match(landed.text, /<dd>the app <bdi>Diary<\/bdi>\. It ends with the access of the app/)
    assert.match(landed.text, /the key <bdi>First<\/bdi>, which descends from the app <bdi>Diary</)
  })
})
