/** A project’s own mail templates: what they replace, which mistakes are reported, and what happens when one fails. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { createCatalogue } from '../../../src/identity/mail/catalogue.ts'
import { compose } from '../../../src/identity/mail/compose.ts'
import { type DeclaredMailTemplates, defineMailTemplates } from '../../../src/identity/mail/define.ts'
import { en } from '../../../src/identity/mail/en.ts'
import type { MailMessage } from '../../../src/identity/mail/mail.ts'
import { createMailer } from '../../../src/identity/mail/mailer.ts'
import { type GivenSettings, readSettings } from '../../../src/server/config/config.ts'
import { loadMailTemplates } from '../../../src/server/serve/background/mailer.ts'

const theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }
const values = { link: 'https://example.com/account/reset?token=a&b', minutes: 60 }

function reset(declared: DeclaredMailTemplates, language: string) {
  const texts = createCatalogue(declared).texts(language)
  return compose('resetPassword', values, { texts, language, theme })
}

test('a template replaces one mail; a region inherits from its language; a new language needs every mail', () => {
  const declared = defineMailTemplates({
    de: {
      resetPassword: written => ({ ...en.resetPassword(written), subject: `Neu bei ${written.service}` }),
    },
    'de-at': { layout: { footer: service => `Servus, ${service}` } },
    fr: {
      ...en,
      resetPassword: ({ link }) => ({ subject: 'Mot de passe', text: link, html: `<p>${link}</p>` }),
    },
  })
  assert.deepEqual(createCatalogue(declared).languages, ['en', 'de', 'fr', 'de-AT'])
  assert.equal(reset(declared, 'de').subject, 'Neu bei Example')
  const austrian = reset(declared, 'de-AT')
  assert.equal(austrian.subject, 'Neu bei Example')
  assert.match(austrian.text, /Servus, Example\n$/)
  assert.match(austrian.html, /Falls die Schaltfläche nicht/)
  assert.deepEqual(reset(declared, 'fr'), {
    subject: 'Mot de passe',
    text: values.link,
    html: `<p>${values.link}</p>`,
  })
  assert.equal(reset(declared, 'en').subject, 'Set a new password at Example')
})

test('a missing or misspelt declaration does not compile', () => {
  // @ts-expect-error: a language that Portico does not support needs every mail.
  defineMailTemplates({ fr: { resetPassword: en.resetPassword } })
  // @ts-expect-error: unknown mail.
  defineMailTemplates({ de: { resetPasword: en.resetPassword } })
  // @ts-expect-error: unknown value.
  defineMailTemplates({ de: { addressTaken: ({ link }) => ({ subject: link, text: link, html: link }) } })
  // @ts-expect-error: a mail has a subject.
  defineMailTemplates({ de: { resetPassword: ({ link }) => ({ text: link, html: link }) } })
})

const folder = mkdtempSync(join(tmpdir(), 'portico-mails-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const index = resolve(import.meta.dirname, '../../../src/index.ts')
const english = resolve(import.meta.dirname, '../../../src/identity/mail/en.ts')

const good = "subject: 'x', preview: '', heading: 'x', paragraphs: [], action: { label: 'x', link }"

const faults: readonly (readonly [what: string, languages: string, fault: RegExp])[] = [
  [
    'an unknown mail',
    '{ de: { resetPasword: () => ({}) } }',
    /de\.resetPasword: is not the name of a mail\. The mails are .*resetPassword/,
  ],
  ['an invalid language tag', "{ 'x_y': {} }", /x_y: is not a language tag such as `fr`/],
  ['an incomplete language', '{ fr: {} }', /fr: omits `layout`, `finishSignUp`/],
  [
    'a text in place of a function',
    "{ de: { resetPassword: 'Hallo' } }",
    /de\.resetPassword: must be a function/,
  ],
  [
    'a text in place of a mail',
    "{ de: { resetPassword: () => 'Hallo' } }",
    /de\.resetPassword: must return an object with `subject`/,
  ],
  [
    'a missing link in the plain part',
    `{ de: { resetPassword: ({ link }) => ({ ${good.replace(/, action.*/, '')} }) } }`,
    /does not contain `link` in its plain part/,
  ],
  [
    'a missing link in the HTML part',
    "{ de: { resetPassword: ({ link }) => ({ subject: 'x', text: link, html: '<p>x</p>' }) } }",
    /does not contain `link` in its HTML part/,
  ],
  [
    'an empty subject',
    `{ de: { resetPassword: ({ link }) => ({ ${good.replace("'x'", "' '")} }) } }`,
    /has no subject of 1 to 200/,
  ],
  [
    'a template that throws',
    '{ de: { resetPassword: values => values.links.first } }',
    /fails with sample values: TypeError: Cannot read/,
  ],
  [
    'a misspelt text of a page',
    "{ de: { pages: { 'Sign inn': 'Einloggen' } } }",
    /de\.pages: `Sign inn` is not a text of a page/,
  ],
  [
    'a text of a page without its value',
    "{ de: { pages: { 'Here since {day}': 'Schon lange dabei' } } }",
    /de\.pages: `Here since \{day\}` must be a text, with \{day\}/,
  ],
  [
    'a text of a page with a value that it does not get',
    "{ de: { pages: { 'Sign in': '{name} einloggen' } } }",
    /de\.pages: `Sign in` must be a text, with no value in braces/,
  ],
  [
    'a text of a page with markup where it would be seen',
    "{ de: { pages: { 'Sign in': '**Einloggen**' } } }",
    /de\.pages: `Sign in` must be a text without markup/,
  ],
  [
    'an empty text of a page',
    "{ de: { pages: { 'Sign in': '' } } }",
    /de\.pages: `Sign in` must be a text, with no value in braces/,
  ],
  [
    'pages in a variant of a language that has none',
    `{ fr: mails, 'fr-CA': { pages: { 'Sign in': 'Connexion' } } }`,
    /fr-CA\.pages: omits \d+ texts, such as /,
  ],
  [
    'an invalid layout',
    "{ de: { layout: { footer: 'Bye' } } }",
    /de\.layout\.footer: must be a function that returns a text/,
  ],
]

for (const [at, [what, languages, fault]] of faults.entries()) {
  test(`at the start, ${what} is reported with its place`, async () => {
    const file = join(folder, `${at}.ts`)
    writeFileSync(
      file,
      `import { defineMailTemplates } from '${index}'; import { en as mails } from '${english}'\nexport default defineMailTemplates(\n  ${languages} as never,\n)\n`,
    )
    await assert.rejects(
      loadMailTemplates(readSettings({ given: { 'mail.templates': file } })),
      (error: Error) => {
        assert.match(error.message, /The mail templates have 1 fault:/)
        assert.match(error.message, fault)
        assert.match(error.message, new RegExp(`${at}\\.ts:3:\\d+`), 'the place')
        return true
      },
    )
  })
}

test('a missing file, a file without a declaration, and a language without mails are reported', async () => {
  const load = (given: GivenSettings) => loadMailTemplates(readSettings({ given }))
  const file = join(folder, 'nothing.ts')
  await assert.rejects(load({ 'mail.templates': file }), /there is no such file of mail templates/)
  writeFileSync(file, 'export default {}\n')
  await assert.rejects(
    load({ 'mail.templates': file }),
    /must have a default export made by `defineMailTemplates/,
  )
  await assert.rejects(load({ 'mail.language': 'fr' }), /there are no mails in `fr`, only in `en`, `de`/)
  assert.deepEqual((await load({ 'mail.language': 'de-CH' })).languages, ['en', 'de'])
})

test('if a template throws, Portico’s own is sent and the error is reported', async () => {
  const declared = defineMailTemplates({
    de: {
      resetPassword({ link, service }) {
        if (link.includes('&')) throw new Error('no ampersands')
        return { subject: service, text: link, html: link }
      },
    },
  })
  const sent: MailMessage[] = []
  const errors: object[] = []
  const mailer = createMailer({
    mail: { delivers: true, send: async message => void sent.push(message) },
    // No language is requested.
    records: {} as never,
    ...{ theme, catalogue: createCatalogue(declared), language: 'de' },
    log: { error: fields => void errors.push(fields) },
  })
  await mailer.sendTemplate('resetPassword', { to: 'ada@example.com' }, values)
  assert.match(sent[0]?.text ?? '', /angefordert.*https:\/\/example\.com/s)
  assert.match(JSON.stringify(errors), /"template":"resetPassword","language":"de"/)
})
