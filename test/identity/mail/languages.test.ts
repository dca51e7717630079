/** The language of a mail: RFC 9110, 12.5.4; RFC 4647, 3.4. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedLanguage } from '../../../src/identity/mail/languages.ts'
import { withFixture } from '../accounts/fixture.ts'

const available = ['en', 'de', 'pt-BR', 'zh-Hant']

const headers: readonly (readonly [header: string | undefined, language: string | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  ['de', 'de'],
  ['DE', 'de'],
  ['de-AT', 'de'],
  ['de-Latn-DE-1996-x-private', 'de'],
  ['fr', undefined],
  ['fr, de;q=0.5', 'de'],
  ['en;q=0.3, de;q=0.8', 'de'],
  ['en;q=0.8,de;q=0.8', 'en'],
  ['de;q=0, en;q=0.1', 'en'],
  ['de;q=0', undefined],
  ['*', undefined],
  ['*, de;q=0.5', 'de'],
  ['pt-br', 'pt-BR'],
  // Lookup shortens a range, and never extends it.
  ['pt', undefined],
  ['zh-Hant-TW', 'zh-Hant'],
  ['zh-x-hant', undefined],
  ['de;q=2', undefined],
  ['de;q=0.1234, en', 'en'],
  ['d_e, en', 'en'],
  ['de\r\nX: y', undefined],
  [`${'fr,'.repeat(400)}de`, undefined],
  ['-'.repeat(100_000), undefined],
]

for (const [header, language] of headers) {
  test(`Accept-Language: ${header?.slice(0, 40)} selects ${language ?? 'no language'}`, () => {
    assert.equal(acceptedLanguage(header, available), language)
  })
}

test('the account’s language takes precedence over the request’s, and that over the setting', () =>
  withFixture({}, async ({ base: { mail }, sent, user }) => {
    const userId = await user('ada@example.com', 'correct horse battery')
    const languageFor = async (languages: string | undefined) => {
      const receiver = { to: 'ada@example.com', userId, requester: { languages } }
      await mail.sendTemplate('resetPassword', receiver, { link: 'https://example.com/x', minutes: 60 })
      return sent.at(-1)?.language
    }
    assert.equal(await languageFor(undefined), 'en')
    assert.equal(await languageFor('de'), 'de')
    await mail.rememberLanguage(userId, 'fr')
    assert.equal(await languageFor('de'), 'de', 'an unsupported language is not stored')
    await mail.rememberLanguage(userId, 'de-CH, en;q=0.8')
    assert.equal(await languageFor('en'), 'de', 'another client’s request does not choose it')
    assert.match(sent.at(-1)?.subject ?? '', /^Neues Passwort/)
    await mail.rememberLanguage(userId, undefined)
    assert.equal(await languageFor('en'), 'de')
    await mail.rememberLanguage(userId, 'en')
    assert.equal(await languageFor(undefined), 'en')
  }))
