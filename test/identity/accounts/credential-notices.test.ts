/** Users are notified of new keys, secrets and connected apps by mail: at proven addresses, and a few times a day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, newTokens } from '../conformance/server.ts'
import { postJson, sameOrigin, signedInCookie } from '../own-page.ts'
import type { Received } from '../smtp.ts'
import { withMail } from './mail-fixture.ts'

/** The mails of a stopped service, without soft line breaks and word joiners. */
async function sent(fixture: Fixture, received: Received): Promise<readonly string[]> {
  await fixture.restart()
  const data = received.data.replace(/=\n/g, '').replace(/=E2=81=A0/g, '')
  return data.split(/^(?=From: )/m)
}

test('the owner gets a mail for each new key and each rotated secret, up to five a day, but not for an app’s first secret', async () => {
  await withMail(async (fixture, received) => {
    const { ann, ben } = fixture
    const create = (key: string, path: string, body: object) =>
      fixture.call(`/api/v1/${path}`, { method: 'POST', key, body })
    for (let count = 1; count <= 7; count++)
      assert.equal((await create(ben.key, 'api_keys', { name: `visit evil.example ${count}` })).status, 201)
    const { id } = await fixture.app({ name: 'Reader' })
    assert.equal((await create(ann.key, 'oauth_app_secrets', { app_id: id })).status, 201)
    assert.equal((await create(ben.key, 'oauth_app_secrets', { app_id: id })).status, 400)
    const mails = await sent(fixture, received)
    const [ofKeys, ofSecrets] = ['A new API key', 'A new secret'].map(subject =>
      mails.filter(text => text.includes(`Subject: ${subject}`)),
    )
    assert.equal(ofKeys?.length, 5)
    assert.ok(ofKeys?.every(text => text.includes(`To: ${ben.email}`)))
    assert.ok(ofKeys?.some(text => text.includes('Name: visit evil.example 1')))
    assert.ok(ofKeys?.every(text => text.includes('/account/keys')))
    assert.equal(ofSecrets?.length, 1)
    assert.ok(ofSecrets?.[0]?.includes(`To: ${ann.email}`))
    assert.ok(ofSecrets?.[0]?.includes(`/account/developer/${id}`))
  })
})

test('the owner gets a mail for a connected app, and for lasting rights that it gets later, but not for others', async () => {
  await withMail(async (fixture, received) => {
    const { ben } = fixture
    const app = await fixture.app({
      ...{ name: 'Reader', scopes: ['openid', 'read:post', 'read:user', 'write:api_key'] },
      redirect_uris: ['https://reader.example.com/callback'],
    })
    const browser = fixture.browser()
    for (const scope of ['openid read:post', 'openid read:user', 'openid write:api_key'])
      await newTokens(fixture, app, { browser, person: ben, scope })
    const mails = (await sent(fixture, received)).filter(text => /^Subject: An app has access/m.test(text))
    assert.equal(mails.length, 2)
    assert.ok(mails.every(text => text.includes(`To: ${ben.email}`) && text.includes('App: Reader')))
    assert.ok(mails.every(text => text.includes('/account/apps')))
  })
})

test('text chosen by a user is not mailed to an unproven address', async () => {
  await withMail(
    async (fixture, received) => {
      const body = { name: 'Eve', email: 'victim@example.com', password: 'a long enough one' }
      await postJson(`${fixture.url}/account/sign-up`, body)
      const cookie = await signedInCookie(fixture.url, body)
      const created = await postJson(
        `${fixture.url}/api/v1/api_keys`,
        { name: 'visit evil.example' },
        { ...sameOrigin, Cookie: cookie },
      )
      assert.equal(created.status, 201, created.text)
      const mails = await sent(fixture, received)
      assert.ok(mails.some(text => text.includes('To: victim@example.com')))
      assert.ok(!mails.some(text => text.includes('evil.example')))
    },
    { 'accounts.signUp': 'open' },
  )
})
