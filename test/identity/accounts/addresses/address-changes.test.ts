/** Changes of an account’s address through the API: write access to an account is not enough to take it over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { updateShape } from '../../../../src/engine/plan/system-plans.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import blog from '../../../models/blog.ts'
import { setups } from '../../../setups/setups.ts'
import { type Fixture, type Person, withFixture } from '../../conformance/server.ts'
import type { Received } from '../../smtp.ts'
import { addressees, formWithField, newestLink, open, page, withMail } from '../mail-fixture.ts'
import { advance, formTo } from '../self-service/own-pages.ts'

const stolen = 'mallory@example.com'

async function createKey({ call }: Fixture, { key }: Person, scopes: readonly string[]): Promise<string> {
  const created = await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'a key', scopes } })
  assert.equal(created.status, 201, created.text)
  return String(created.json.key)
}

async function addressOf({ call, admin }: Fixture, { id }: Person): Promise<unknown> {
  return (await call(`/api/v1/users/${id}`, { key: admin.key })).json.email
}

async function signIn(fixture: Fixture, { email, password }: Pick<Person, 'email' | 'password'>) {
  const visitor = fixture.browser()
  const first = await open(visitor, '/account/sign-in')
  const landed = page(await visitor.submit(formWithField(first, 'password'), { email, password }))
  return { visitor, landed }
}

for (const setup of setups) {
  test(`${setup.name}: write access cannot take over the account of a user who has never signed in by changing its address`, async () => {
    await withMail(
      async (fixture, received) => {
        const { call, ann } = fixture
        const key = await createKey(fixture, ann, ['write:user'])
        const path = `/api/v1/users/${ann.id}`
        const patched = await call(path, { method: 'PATCH', key, body: { email: stolen, name: 'Changed' } })
        assert.equal(patched.status, 200, patched.text)
        assert.deepEqual([patched.json.email, patched.json.name], [ann.email, 'Changed'])
        const put = await call(path, { method: 'PUT', key, body: { email: stolen, name: 'Ann' } })
        assert.deepEqual([put.status, put.json.email, put.json.name], [200, ann.email, 'Ann'])
        const query = `mutation { updateUser(id: ${ann.id}, email: "Mallory@Example.com") { user: id email } }`
        const byGraphql = await call('/graphql', { method: 'POST', key, body: { query } })
        assert.match(byGraphql.text, new RegExp(ann.email), byGraphql.text)
        assert.equal(await addressOf(fixture, ann), ann.email)
        await newestLink(received, /asked to give your account at Portico the address mallory@example\.com/g)
        assert.ok(addressees(received).includes(ann.email))

        const attacker = fixture.browser()
        const resetForm = formWithField(await open(attacker, '/account/reset'), 'email')
        page(await attacker.submit(resetForm, { email: stolen }))
        const confirmation = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
        // The link requires a sign-in first, and refuses the session of another user.
        const { url } = await open(attacker, confirmation)
        assert.deepEqual([url.pathname, url.searchParams.get('next')], ['/account/sign-in', confirmation])
        const { visitor: ben } = await signIn(fixture, fixture.ben)
        const refused = await open(ben, confirmation)
        assert.match(refused.text, /This link is for another account/)
        assert.equal(refused.forms.length, 0)
        const own = (await open(ben, '/account')).forms[0]
        assert.ok(own)
        const token = new URL(confirmation, fixture.url).searchParams.get('token') ?? ''
        const action = new URL('/account/verify', fixture.url)
        const forged = {
          ...own,
          action,
          fields: [...own.fields, { name: 'token', value: token, type: 'hidden', checked: false }],
        }
        const foreign = page(await ben.submit(forged, { password: fixture.ben.password }))
        assert.equal(foreign.status, 400)
        assert.equal(await addressOf(fixture, ann), ann.email)
        assert.doesNotMatch(received.data, /account\/reset\?token/)
      },
      { setup },
    )
  })
}

test('the owner confirms a new address with its link and the password; the old address is notified', async () => {
  await withMail(async (fixture, received) => {
    const { call, ann } = fixture
    const fresh = 'ann.new@example.com'
    await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: ann.key, body: { email: fresh } })
    const path = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
    const { visitor: owner, landed } = await signIn(fixture, ann)
    assert.match(landed.text, /ann\.new@example\.com<\/strong> becomes the address of your account/)
    const opened = await open(owner, path)
    const wrong = page(await owner.submit(formWithField(opened, 'password'), { password: 'not that one' }))
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /This is not your password/)
    assert.equal(await addressOf(fixture, ann), ann.email)
    const done = page(await owner.submit(formWithField(wrong, 'password'), { password: ann.password }))
    assert.match(
      done.text,
      /<p>ann\.new@example\.com<\/p>\s*<p class="faint small"><span class="state good">Confirmed/,
    )
    assert.equal(await addressOf(fixture, ann), fresh)
    await newestLink(received, /Your account at Portico now has the address ann\.new@example\.com/g)
    assert.equal((await open(owner, path)).status, 400)
    assert.equal(
      (await signIn(fixture, { email: fresh, password: ann.password })).landed.url.pathname,
      '/account',
    )
  })
})

/** Signs the user in, removes their password, and opens the link to their new address. */
async function withoutPassword(fixture: Fixture, received: Received, person: Person, email: string) {
  const { call, deployment } = fixture
  await call(`/api/v1/users/${person.id}`, { method: 'PATCH', key: person.key, body: { email } })
  const path = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
  const { visitor } = await signIn(fixture, person)
  const model = checkModel(blog)
  const store = await deployment.openStore(model)
  const run = createRun(createGuard(model), store)
  await run.write({ shape: updateShape('users', ['password_hash']), args: [person.id, null] }, system)
  await store.close()
  return { visitor, path, opened: await open(visitor, path) }
}

test('a user without a password confirms a new address soon after signing in', async () => {
  await withMail(async (fixture, received) => {
    const { ann } = fixture
    const { visitor, opened } = await withoutPassword(fixture, received, ann, 'ann.new@example.com')
    assert.ok(!opened.forms.some(({ fields }) => fields.some(({ name }) => name === 'password')))
    page(await visitor.submit(formTo(opened, '/account/verify')))
    assert.equal(await addressOf(fixture, ann), 'ann.new@example.com')
  })
})

test('after an older sign-in, a user without a password must sign in again and returns to the link', async () => {
  await withMail(async (fixture, received) => {
    const { ann } = fixture
    const { visitor, path, opened } = await withoutPassword(fixture, received, ann, 'ann.new@example.com')
    advance(15 * 60_000)
    for (const late of [
      page(await visitor.submit(formTo(opened, '/account/verify'))),
      await open(visitor, path),
    ]) {
      assert.equal(late.url.pathname, '/account/sign-in')
      assert.equal(late.url.searchParams.get('next'), path)
      // The forms of the sign-in page lead back to the link.
      assert.equal(formWithField(late, 'password').fields.find(({ name }) => name === 'next')?.value, path)
    }
    assert.equal(await addressOf(fixture, ann), ann.email)
  })
})

test('cancelling a pending address invalidates its link', async () => {
  await withMail(async (fixture, received) => {
    const { call, ann } = fixture
    await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: ann.key, body: { email: stolen } })
    const path = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
    const { visitor: owner, landed } = await signIn(fixture, ann)
    const kept = page(await owner.submit(formWithField(landed, 'drop')))
    assert.match(kept.text, /keeps its address/)
    assert.doesNotMatch(kept.text, /mallory/)
    const tried = page(
      await owner.submit(formWithField(await open(owner, path), 'password'), { password: ann.password }),
    )
    assert.equal(tried.status, 400)
    assert.equal(await addressOf(fixture, ann), ann.email)
  })
})

test('a taken address gets the same response as a free one, and stays with its account', async () => {
  await withMail(async (fixture, received) => {
    const { call, ann, ben } = fixture
    const patch = (email: string) =>
      call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: ann.key, body: { email } })
    const [free, taken] = [await patch('free@example.com'), await patch(ben.email)]
    assert.equal(taken.status, 200)
    assert.equal(taken.text, free.text)
    await newestLink(received, /It already belongs to an account, so nothing was changed/g)
    // A free address can be taken before its link is opened.
    await patch('late@example.com')
    const path = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
    const body = { name: 'Late', email: 'late@example.com' }
    assert.equal((await call('/api/v1/users', { method: 'POST', key: fixture.admin.key, body })).status, 201)
    const { visitor: owner } = await signIn(fixture, ann)
    const tried = page(
      await owner.submit(formWithField(await open(owner, path), 'password'), { password: ann.password }),
    )
    assert.equal(tried.status, 400)
    assert.equal(await addressOf(fixture, ann), ann.email)
  })
})

test('an address set by an administrator applies at once and receives reset mails; the old address is notified', async () => {
  await withMail(async (fixture, received) => {
    const { call, admin, ann } = fixture
    await signIn(fixture, ann)
    const newAddress = 'ann.given@example.com'
    const body = { email: newAddress }
    const patched = await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: admin.key, body })
    assert.deepEqual([patched.status, patched.json.email], [200, newAddress])
    await newestLink(
      received,
      /An administrator has given your account at Portico the address ann\.given@example\.com/g,
    )
    assert.ok(addressees(received).includes(ann.email))
    const visitor = fixture.browser()
    await visitor.submit(formWithField(await open(visitor, '/account/reset'), 'email'), { email: newAddress })
    await newestLink(received, /\/account\/reset\?token=[\w-]+/g)
    const { landed } = await signIn(fixture, { email: newAddress, password: ann.password })
    assert.match(landed.text, /<h2 id="unconfirmed">Confirm your e-mail address/)
    // Administrators’ own addresses are no exception: a stolen credential must not take over the account.
    const own = await call(`/api/v1/users/${admin.id}`, {
      method: 'PATCH',
      key: admin.key,
      body: { email: stolen },
    })
    assert.deepEqual([own.status, own.json.email], [200, admin.email])
  })
})

test('a caller who may not change an address is refused, and no change is pending', async () => {
  await withMail(async (fixture, received) => {
    const { call, ann, ben } = fixture
    const foreign = await call(`/api/v1/users/${ben.id}`, {
      method: 'PATCH',
      key: ann.key,
      body: { email: stolen },
    })
    assert.equal(foreign.status, 403, foreign.text)
    const reader = await createKey(fixture, ann, ['read:user'])
    const unscoped = await call(`/api/v1/users/${ann.id}`, {
      method: 'PATCH',
      key: reader,
      body: { email: stolen },
    })
    assert.equal(unscoped.status, 403)
    const stale = await call(`/api/v1/users/${ann.id}`, {
      method: 'PATCH',
      key: ann.key,
      headers: { 'If-Match': '"another"' },
      body: { email: stolen },
    })
    assert.equal(stale.status, 412)
    const { landed } = await signIn(fixture, ann)
    assert.doesNotMatch(landed.text, /mallory/)
    const subjects = received.data.match(/^Subject: .*/gm) ?? []
    assert.ok(
      subjects.every(subject => subject.includes('A new API key')),
      String(subjects),
    )
  })
})

test('repeated changes of one’s own address are throttled, so that they cannot mail many strangers', async () => {
  await withFixture({}, async ({ call, ann }) => {
    const statuses = new Set<number>()
    for (let count = 0; count < 30; count++) {
      const body = { email: `somebody.${count}@example.com` }
      const { status } = await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: ann.key, body })
      statuses.add(status)
    }
    assert.deepEqual(statuses, new Set([200, 429]))
  })
})
