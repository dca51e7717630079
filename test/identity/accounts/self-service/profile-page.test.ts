/** `/account/profile`: the user’s profile, a copy of their data, and the deletion of their account. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  boolean,
  choice,
  collection,
  currentUser,
  model,
  nobody,
  owner,
  relation,
  role,
  signedIn,
  string,
  text,
  users,
} from '../../../../src/index.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import { type Fixture, newTokens, type Person, sharedFixtures } from '../../conformance/server.ts'
import { signedInCookie } from '../../own-page.ts'
import { type Received, withSmtp } from '../../smtp.ts'
import { formWithField, newestLink, open } from '../mail-fixture.ts'
import { advance, formTo, inputValue, signIn, submitForm } from './own-pages.ts'

const own = owner('author_id')

const declaration = model({
  users: users({
    fields: {
      company: string({ optional: true, max: 80, description: 'Your company' }),
      plan: choice(['free', 'team'], { default: 'free' }),
      news: boolean({ default: false }),
      rating: string({ optional: true, access: { write: role('admin') } }),
      ledger: string({ optional: true, access: { read: role('admin'), write: role('admin') } }),
    },
  }),
  posts: collection({
    fields: {
      title: text({ max: 200 }),
      hidden: text({ optional: true, access: { read: role('admin') } }),
      author_id: relation('users', { inverse: 'posts', default: currentUser }),
    },
    access: { read: signedIn, create: own, update: own, delete: own },
  }),
  notes: collection({
    fields: {
      body: text(),
      author_id: relation('users', { inverse: 'notes', onDelete: 'cascade' }),
    },
    access: { read: own, create: own, update: own, delete: own },
  }),
  likes: collection({
    fields: { fan_id: relation('users', { inverse: 'likes', onDelete: 'clear', optional: true }) },
    access: { read: signedIn, create: nobody, update: nobody, delete: nobody },
  }),
})

let closeMail = () => {}
const [smtp, received] = await new Promise<readonly [string, Received]>(resolve => {
  withSmtp((url, taken) => {
    resolve([url, taken])
    return new Promise<void>(close => {
      closeMail = close
    })
  })
})
const withFixture = sharedFixtures(sqlite, { 'mail.smtp': smtp }, declaration)
after(() => closeMail())

const path = '/account/profile'

async function created({ call }: Fixture, { key }: Person, to: string, body: object): Promise<number> {
  const { status, json, text: details } = await call(`/api/v1/${to}`, { method: 'POST', key, body })
  assert.equal(status, 201, details)
  return Number(json.id)
}

test('the name and further fields are changed by the rules of the model, with faults at their fields', async () => {
  await withFixture(async fixture => {
    const { ben, call } = fixture
    const { visitor, landed } = await signIn(fixture, ben, path)
    const sent = formTo(landed, path, 'details')
    const names = sent.fields.map(({ name }) => name)
    for (const name of ['name', 'field_company', 'field_plan', 'field_news']) assert.ok(names.includes(name))
    assert.ok(!names.some(name => /rating|ledger|role|password/.test(name)), names.join())
    const saved = await submitForm(visitor, sent, {
      name: 'Ben <b>Bold</b>',
      field_company: ' Engines ',
      field_plan: 'team',
      field_news: true,
    })
    assert.match(saved.text, /Your changes are saved/)
    const { json } = await call(`/api/v1/users/${ben.id}`, { key: ben.key })
    assert.deepEqual(
      [json.name, json.company, json.plan, json.news],
      ['Ben <b>Bold</b>', 'Engines', 'team', true],
    )
    const again = formTo(saved, path, 'details')
    const faulty = await submitForm(visitor, again, { name: 'x\u202ey', field_company: 'y'.repeat(81) })
    assert.equal(faulty.status, 400)
    assert.match(faulty.text, /id="name-fault"/)
    assert.match(faulty.text, /id="field_company-fault"/)
    assert.equal(inputValue(faulty, 'field_company'), 'y'.repeat(81))
    const cleared = await submitForm(visitor, again, { field_company: '', field_news: false })
    assert.equal(cleared.status, 200)
    const after_ = await call(`/api/v1/users/${ben.id}`, { key: ben.key })
    assert.deepEqual([after_.json.company, after_.json.news], [null, false])
    const forged = { name: 'field_rating', type: 'text', value: 'best', checked: false }
    await submitForm(visitor, { ...again, fields: [...again.fields, forged] })
    assert.equal((await call(`/api/v1/users/${ben.id}`, { key: ben.key })).json.rating, null)
  })
})

test('a new address is pending until it is proven, is shown as such, and can be cancelled', async () => {
  await withFixture(async fixture => {
    const { ben, call } = fixture
    const { visitor, landed } = await signIn(fixture, ben, path)
    const sent = formTo(landed, path, 'email')
    const wrong = await submitForm(visitor, sent, { email: 'nobody' })
    assert.match(wrong.text, /id="email-fault"/)
    assert.match(wrong.text, /value="nobody"/)
    assert.match((await submitForm(visitor, sent, { email: ben.email })).text, /has this address already/)
    const fresh = `new.${ben.email}`
    const pending = await submitForm(visitor, sent, { email: fresh })
    assert.match(pending.text, /We have sent a link to the new address/)
    assert.ok(pending.text.includes(`<strong>${fresh}</strong> becomes`))
    assert.equal((await call(`/api/v1/users/${ben.id}`, { key: ben.key })).json.email, ben.email)
    await newestLink(received, new RegExp(`give your account at Portico the address ${fresh}`, 'g'))
    const kept = await submitForm(visitor, formWithField(pending, 'drop'))
    assert.match(kept.text, /keeps its address/)
    assert.ok(!(await open(visitor, path)).text.includes(fresh))
  })
})

test('the export contains everything that belongs to the user and that they may see, and nothing else', async () => {
  await withFixture(async fixture => {
    const { ann, ben } = fixture
    for (let count = 0; count < 130; count++)
      await created(fixture, ben, 'notes', { body: `note ${count}`, author_id: ben.id })
    await created(fixture, ben, 'posts', { title: 'A <post>' })
    await created(fixture, ann, 'posts', { title: 'not of Ben' })
    const app = await fixture.app({ scopes: null, default_scopes: null, name: 'Reader' })
    await newTokens(fixture, app, { browser: fixture.browser(), person: ben, scope: 'read:post' })
    const { visitor, landed } = await signIn(fixture, ben, `${path}/export`)
    assert.match(landed.text, /<li>your notes<\/li>/)
    const answer = await submitForm(visitor, formTo(landed, `${path}/export`))
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.match(
      String(answer.headers['content-disposition']),
      /^attachment; filename="account-\d+-\d{4}-\d\d-\d\d\.json"$/,
    )
    assert.equal(answer.headers['cache-control'], 'no-store')
    const file = JSON.parse(answer.text)
    assert.equal(file.account.email, ben.email)
    assert.ok(!('ledger' in file.account) && !('password_hash' in file.account))
    assert.deepEqual(
      file.items.notes.map(({ body }: { body: string }) => body),
      Array.from({ length: 130 }, (_, at) => `note ${at}`),
    )
    assert.deepEqual(
      file.items.posts.map(({ title }: { title: string }) => title),
      ['A <post>'],
    )
    assert.ok(!('hidden' in file.items.posts[0]))
    assert.equal(file.items.api_keys.length, 1)
    assert.deepEqual(file.items.oauth_apps, [])
    assert.deepEqual(file.connected_apps[0].scopes, ['read:post'])
    assert.ok(file.sessions.length >= 1)
    assert.deepEqual(file.linked_accounts, [])
    assert.ok(Array.isArray(file.api_key_uses))
    assert.doesNotMatch(answer.text, /hash|ps_|secret"|not of Ben/)
    const statuses: number[] = []
    for (let count = 0; count < 5; count++)
      statuses.push((await submitForm(visitor, formTo(landed, `${path}/export`))).status)
    assert.deepEqual(statuses, [200, 200, 200, 200, 429])
    const unsent = { ...formTo(landed, `${path}/export`), fields: [] }
    assert.equal((await submitForm(visitor, unsent)).status, 403)
  })
})

test('an export in progress stops when its account is disabled', async () => {
  await withFixture(async fixture => {
    const { admin, ben, call, url } = fixture
    const note = { body: 'x'.repeat(60_000), author_id: ben.id }
    const notes = Array.from({ length: 15 }, () => note)
    for (let count = 0; count < 7; count++)
      await call('/api/v1/notes', { method: 'POST', key: ben.key, body: notes })
    const session = await signedInCookie(url, ben)
    const exportPage = await call(`${path}/export`, { headers: { Cookie: session } })
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(exportPage.text) ?? []
    const [token = ''] = exportPage.headers.getSetCookie().flatMap(line => line.split(';', 1))
    const answer = await fetch(`${url}${path}/export`, {
      method: 'POST',
      headers: { Cookie: `${session}; ${token}` },
      body: new URLSearchParams({ csrf }),
    })
    assert.equal(answer.status, 200)
    // The response is unread, so the export waits.
    const reader = answer.body?.getReader()
    await reader?.read()
    const disabled = { method: 'PATCH', key: admin.key, body: { disabled: true } }
    assert.equal((await call(`/api/v1/users/${ben.id}`, disabled)).status, 200)
    const rest = async () => {
      while ((await reader?.read())?.done === false);
    }
    await assert.rejects(rest())
  })
})

test('the owner deletes an account: blocking collections are named, and no credential works afterwards', async () => {
  await withFixture(async fixture => {
    const { ann, ben, call } = fixture
    const post = await created(fixture, ben, 'posts', { title: 'Blocks' })
    await created(fixture, ben, 'notes', { body: 'goes too', author_id: ben.id })
    const app = await fixture.app({ scopes: null })
    const tokens = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: ben,
      scope: 'read:post offline_access',
    })
    const elsewhere = await signIn(fixture, ben, '/account')
    const { visitor, landed } = await signIn(fixture, ben, `${path}/delete`)
    assert.match(landed.text, /cannot be deleted yet/)
    assert.match(landed.text, /<li>Posts<\/li>/)
    assert.match(landed.text, /what is yours is deleted: [^<]*notes/)
    assert.match(landed.text, /these stay, without your name: likes/)
    const sent = formTo(landed, `${path}/delete`)
    assert.match((await submitForm(visitor, sent, { address: ann.email })).text, /id="address-fault"/)
    const blocked = await submitForm(visitor, sent, { address: ben.email })
    assert.equal(blocked.status, 400)
    assert.match(blocked.text, /Your account was not deleted\. Items of posts still refer/)
    assert.equal((await call(`/api/v1/posts/${post}`, { method: 'DELETE', key: ben.key })).status, 204)
    advance(16 * 60_000)
    const signInPage = await submitForm(visitor, sent, { address: ben.email })
    assert.equal(signInPage.url.searchParams.get('next'), `${path}/delete`)
    const { email, password } = ben
    const again = await submitForm(visitor, formTo(signInPage, '/account/sign-in'), { email, password })
    assert.doesNotMatch(again.text, /cannot be deleted yet/)
    const done = await submitForm(visitor, formTo(again, `${path}/delete`), {
      address: ` ${email.toUpperCase()} `,
    })
    assert.match(done.text, /Your account is deleted/)
    await newestLink(received, /was deleted at your request/g)
    assert.ok(received.commands.includes(`RCPT TO:<${email}>`))
    assert.equal((await call('/api/v1/posts', { key: ben.key })).status, 401)
    assert.equal((await call('/api/v1/posts', { key: String(tokens.access_token) })).status, 401)
    for (const browser of [visitor, elsewhere.visitor])
      assert.equal((await open(browser, '/account')).url.pathname, '/account/sign-in')
    const deleted = await submitForm(
      visitor,
      formTo(await open(visitor, '/account/sign-in'), '/account/sign-in'),
      {
        email,
        password,
      },
    )
    assert.match(deleted.text, /The e-mail address or the password is wrong/)
    const notes = await call(`/api/v1/users?email=${encodeURIComponent(email)}`, { key: ann.key })
    assert.deepEqual(notes.json.data, [])
  })
})

test('the last administrator cannot delete their account, and learns why', async () => {
  await withFixture(async fixture => {
    const { admin, call } = fixture
    const everybody = await call('/api/v1/users?role=admin&per_page=100', { key: admin.key })
    for (const { id } of everybody.json.data as readonly { id: number }[]) {
      const body = { role: 'user' }
      if (id !== admin.id) await call(`/api/v1/users/${id}`, { method: 'PATCH', key: admin.key, body })
    }
    const { visitor, landed } = await signIn(fixture, admin, `${path}/delete`)
    const sent = formTo(landed, `${path}/delete`)
    const refused = await submitForm(visitor, sent, { address: admin.email })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /Your account was not deleted\. This would leave the service without/)
    assert.equal((await call('/api/v1/me', { key: admin.key })).status, 200)
  })
})
