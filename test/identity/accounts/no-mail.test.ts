/** A service without a mail server: no page says that a link was sent, and nobody is asked to confirm an address. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withService } from '../../server/serve/service.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { sharedFixtures } from '../conformance/server.ts'
import { postJson, sameOrigin, signedInCookie } from '../own-page.ts'
import { formWithField, open, page } from './mail-fixture.ts'

const withFixture = sharedFixtures(sqlite)

const sentence = /sent (?:you )?a (?:link|message)|Send the link|Check your mail/

test('without a mail server, the account does not ask to confirm its address, and the reset page says why it cannot help', async () => {
  await withFixture(async ({ ann, browser, url }) => {
    const visitor = browser()
    const { email, password } = ann
    const signIn = formWithField(await open(visitor, '/account/sign-in'), 'password')
    const account = page(await visitor.submit(signIn, { email, password }))
    assert.match(account.text, /Not confirmed/)
    assert.doesNotMatch(account.text, sentence)
    const reset = await open(visitor, '/account/reset')
    assert.match(reset.text, /This service sends no mail/)
    assert.equal(reset.forms.length, 0)
    // Forms of pages that were opened while there was a mail server.
    const [own] = account.forms
    assert.ok(own)
    for (const [path, field] of [
      ['/account/reset', 'email'],
      ['/account/verify', 'send'],
    ] as const) {
      const action = new URL(path, url)
      const old = {
        ...own,
        action,
        fields: [...own.fields, { name: field, value: 'yes', type: 'hidden', checked: false }],
      }
      const answer = page(await visitor.submit(old))
      assert.match(answer.text, /This service sends no mail/, path)
    }
    const json = await postJson(`${url}/account/reset`, { email })
    assert.equal(json.code, 'NOT_FOUND')
    assert.match(json.text, /Mail is not set up/)
  })
})

test('a new address says that it cannot be confirmed', async () => {
  await withFixture(async ({ ben, browser }) => {
    const visitor = browser()
    const signIn = formWithField(await open(visitor, '/account/sign-in'), 'password')
    page(await visitor.submit(signIn, { email: ben.email, password: ben.password }))
    const profile = await open(visitor, '/account/profile')
    const form = profile.forms.find(({ fields }) => fields.some(({ value }) => value === 'email'))
    assert.ok(form)
    const asked = page(await visitor.submit(form, { email: 'new@example.com' }))
    assert.match(asked.text, /the new address cannot be confirmed/)
    assert.doesNotMatch(asked.text, sentence)
  })
})

test('nobody is asked to confirm the placeholder address of the first administrator', async () => {
  const settings = { adminPassword: 'a good long password', 'mail.smtp': 'smtp://127.0.0.1:9' }
  for (const [adminEmail, isAsked] of [
    ['admin@example.com', false],
    ['root@example.net', true],
  ] as const) {
    await withService({ ...settings, adminEmail }, async ({ call, url }) => {
      const person = { email: adminEmail, password: settings.adminPassword }
      const Cookie = await signedInCookie(url, person)
      const { text } = await call('/account', { headers: { Cookie, Accept: 'text/html', ...sameOrigin } })
      assert.match(text, /Not confirmed/)
      assert.equal(sentence.test(text), isAsked, adminEmail)
    })
  }
})
