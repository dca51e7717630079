import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { createBySystem } from '../../../../src/identity/bootstrap.ts'
import { requireName, shownName } from '../../../../src/identity/server/clients/app-name.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import blog from '../../../models/blog.ts'
import { portico } from '../../../system/processes/command.ts'
import { authorizationUrl, formWith, redirectUri, withFixture } from '../../conformance/server.ts'

/** Characters that are invisible, or that change the direction of the following text. */
const unseen = [
  '\u202e',
  '\u2066',
  '\u200b',
  '\u200f',
  '\u061c',
  '\ufeff',
  '\u0000',
  '\u0007',
  '\u009b',
  '\n',
  '\r',
  '\u2028',
  '\u00ad',
]

const imitations = [
  'Acme Cloud',
  'acme cloud',
  'ACME  CLOUD',
  'Acme\u00a0Cloud',
  'A c m e Cloud',
  'Acme-Cloud!',
  'Ácme Cloud',
  'Аcmе Сlоud',
  'Ａｃｍｅ Cloud',
  'Acme\u200dCloud',
  'Acme Cl0ud',
  'Acme C1oud',
  'Acme CIoud',
]

test('an app’s name can neither imitate the service’s nor contain invisible characters', async () => {
  const token = 'an-initial-access-token-that-is-long'
  await withFixture({ 'theme.name': 'Acme Cloud', 'oauth.registrationToken': token }, async fixture => {
    const {
      call,
      ann: { key },
    } = fixture
    const { id } = await fixture.app()
    const names = [
      ...imitations,
      ...unseen.map(character => `Good${character}Name`),
      `Ba${'\u0301'.repeat(5)}d`,
      'Good\u{e0041}',
      ' Reader',
      'Reader ',
      ' ',
      '',
    ]
    for (const name of names) {
      const shown = JSON.stringify(name)
      const body = { name, redirect_uris: [redirectUri] }
      const created = await call('/api/v1/oauth_apps', { method: 'POST', key, body })
      assert.deepEqual([created.status, created.code], [400, 'VALIDATION_FAILED'], shown)
      assert.match(created.text, /"field":"name"/, shown)
      for (const method of ['PATCH', 'PUT']) {
        const changed = await call(`/api/v1/oauth_apps/${id}`, { method, key, body })
        assert.deepEqual([changed.status, changed.code], [400, 'VALIDATION_FAILED'], `${method} ${shown}`)
      }
      const query = 'mutation ($name: String!, $id: ID!) { updateOauthApp(id: $id, name: $name) { id } }'
      const graphql = await call('/graphql', {
        method: 'POST',
        key,
        body: { query, variables: { name, id } },
      })
      assert.match(graphql.text, /VALIDATION_FAILED/, shown)
      if (name === '') continue
      const metadata = { client_name: name, redirect_uris: [redirectUri] }
      const registered = await call('/oauth/register', { method: 'POST', key: token, body: metadata })
      assert.deepEqual([registered.status, registered.json.error], [400, 'invalid_client_metadata'], shown)
      assert.match(registered.text, /client_name/, shown)
    }
    for (const name of [
      'Acme Cloud Reader',
      'Café „Zwölf“ №1',
      'می‌خواهم',
      '👩‍💻 Notes',
      'Читалка',
      '🏴\u{e0067}\u{e0062}\u{e007f} Pubs',
    ]) {
      const body = { name, redirect_uris: [redirectUri] }
      const created = await call('/api/v1/oauth_apps', { method: 'POST', key, body })
      assert.equal(created.status, 201, created.text)
    }
  })
})

test('names of users and keys cannot contain invisible characters either', async () => {
  await withFixture({}, async ({ call, ann: { key, id } }) => {
    for (const character of unseen) {
      const name = `Ann${character}nnA`
      const user = await call(`/api/v1/users/${id}`, { method: 'PATCH', key, body: { name } })
      assert.deepEqual([user.status, user.code], [400, 'VALIDATION_FAILED'], JSON.stringify(name))
      const created = await call('/api/v1/api_keys', { method: 'POST', key, body: { name } })
      assert.deepEqual([created.status, created.code], [400, 'VALIDATION_FAILED'], JSON.stringify(name))
    }
    assert.equal(
      (await call(`/api/v1/users/${id}`, { method: 'PATCH', key, body: { name: 'آن Ånn' } })).status,
      200,
    )
  })
})

test('the command line cannot create an app with such a name either', async () => {
  await withFixture({}, async ({ deployment: { database } }) => {
    const make = (name: string) =>
      portico(['apps', 'create', '--user', 'ann@example.com', '--name', name], {
        environment: { DATABASE_URL: database, PORTICO_THEME_NAME: 'Acme Cloud' },
      })
    for (const name of ['ACME cloud', 'Good\u202eName']) {
      const { code, err } = await make(name)
      assert.notEqual(code, 0, name)
      assert.match(err, /name/i)
    }
  })
})

test('a stored name is shown without invisible characters, and isolated from the surrounding text', async () => {
  await withFixture({}, async ({ deployment, ann, url, browser: open }) => {
    const model = checkModel(blog)
    const store = await deployment.openStore(model)
    const run = createRun(createGuard(model), store)
    const name = 'Nice\u202e\u200b <b>App'
    const computed = { client_id: 'app_old', user_id: ann.id, name }
    await createBySystem(run, 'oauth_apps', { redirect_uris: [redirectUri] }, computed).finally(() =>
      store.close(),
    )
    const browser = open()
    const parameters = { client_id: 'app_old', redirect_uri: redirectUri, scope: 'read:post' }
    const page = await browser.open(authorizationUrl(url, parameters))
    assert.ok('forms' in page)
    const form = formWith(page, 'password')
    assert.ok(form)
    const consent = await browser.submit(form, { email: ann.email, password: ann.password })
    assert.ok('forms' in consent)
    for (const { text } of [page, consent]) {
      assert.match(text, /<(?:h1|strong)><bdi>Nice &lt;b&gt;App<\/bdi>/)
      assert.ok(!text.includes('\u202e') && !text.includes('\u200b'))
    }
  })
})

const posing = [
  ...[
    'ᴘortico',
    'Pᴏʀᴛɪᴄᴏ',
    'РΟRΤІСО',
    'Ꮲortico',
    'ꓑortico',
    '🅟ortico',
    '🅿ortico',
    '🇵ortico',
    'Pørtico',
    'Port1c0',
    'ⓟortico',
  ],
  ...[
    'Portico Security',
    'Portico – Support Team',
    'Official Portico',
    'PorticoSecurity',
    'porticosupport',
    'The Portico App',
  ],
  ...[
    'ᴘortico Sеcurity',
    'Portico S e c u r i t y',
    'Portico Account Guard',
    'Sicherheit von Portico',
    'Portico Login',
    'Portico.com',
  ],
  ...[
    'Security Team',
    'Official Support',
    'Account Verification',
    'Portico Admin',
    'Admin @ Portico',
    'Portico 𝐒𝐞𝐜𝐮𝐫𝐢𝐭𝐲',
  ],
]

const honest = [
  ...[
    'Reader for Portico',
    'Portico Backup',
    'Steam Tracker for Portico',
    'Porticoes of Bologna',
    'Console',
    'Web',
    'Notes',
  ],
  ...['Teamwork', 'Support Desk Analytics', 'Читалка', 'Ελληνικά', 'Adminer', 'Secure Notes', 'Corn & Modem'],
]

test('a name that users would take for the service or for a part of it is refused, and others are not', () => {
  for (const name of posing) assert.throws(() => requireName(name, 'Portico'), /Portico/, name)
  for (const name of honest) assert.doesNotThrow(() => requireName(name, 'Portico'), name)
  // A short name, and one that itself contains such a word.
  for (const name of ['X Support', 'Х']) assert.throws(() => requireName(name, 'X'), name)
  for (const name of ['Xylophone Support Tools', 'Next'])
    assert.doesNotThrow(() => requireName(name, 'X'), name)
  assert.doesNotThrow(() => requireName('Team Space Reader', 'Team Space'))
  assert.throws(() => requireName('Team Space Security', 'Team Space'))
})

test('a service whose name has no letters accepts any app name', () => {
  assert.doesNotThrow(() => requireName('★', '★'))
  assert.throws(() => requireName('P.o.r.t.i.c.o', 'Portico'), /Portico/)
  assert.equal(shownName(' a\u202eb\n'), 'ab')
})
