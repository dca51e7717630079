/** Every mail in every language: its content, its two parts, and hostile values. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCatalogue } from '../../../src/identity/mail/catalogue.ts'
import { type ComposedMail, compose } from '../../../src/identity/mail/compose.ts'
import { quoted, quotedValues } from '../../../src/identity/mail/quoted.ts'
import { type MailName, type MailValues, mailNames, sampleValues } from '../../../src/identity/mail/values.ts'

const catalogue = createCatalogue()
const theme = { name: 'Reading <b>Room</b>', logo: undefined, colour: '#1f5fbf' }
const request = { at: Date.UTC(2026, 0, 2, 3, 4), address: '203.0.113.7', device: 'Firefox, Linux' }

function mail<Name extends MailName>(
  name: Name,
  language: string,
  values: MailValues[Name] = sampleValues[name],
) {
  return compose(name, values, { texts: catalogue.texts(language), language, theme, request })
}

function unescaped(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

/** The text that a person reads, without markup. */
function shownText(html: string): string {
  const body = html.slice(html.indexOf('<h1'))
  return unescaped(body.replaceAll(/<br>|<\/(?:p|td|h1|a)>/g, '\n').replaceAll(/<[^>]*>/g, '')).replaceAll(
    /\s+/g,
    ' ',
  )
}

function linksOf({ html }: ComposedMail): ReadonlySet<string> {
  return new Set([...html.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => unescaped(link)))
}

const textLinks = (text: string) => new Set(text.match(/https?:\S+/g))

for (const language of catalogue.languages) {
  describe(`mails in ${language}`, () => {
    for (const name of mailNames) {
      it(`${name} has the same content in both parts`, () => {
        const composed = mail(name, language)
        const { subject, text, html } = composed
        assert.match(subject, /^\S.{5,120}\S$/u)
        assert.ok(subject.includes(theme.name), 'the subject names the service')
        assert.match(html, new RegExp(`^<!doctype html>\\n<html lang="${language}" dir="ltr">`))
        assert.deepEqual(linksOf(composed), textLinks(text))
        const values: Readonly<Record<string, unknown>> = { ...sampleValues[name] }
        const links = Object.values(values).filter(
          value => typeof value === 'string' && value.startsWith('https:'),
        )
        assert.deepEqual(linksOf(composed), new Set(links), 'the HTML part has every link, and no other')
        const shown = shownText(html)
        const [content = ''] = text.split('-- \n')
        for (const line of content.split('\n').filter(Boolean)) {
          const parts = line.split(/: (?=\S)/).filter(part => !part.startsWith('https:'))
          for (const part of parts)
            assert.ok(shown.includes(part.replace(/:$/, '')), `${part} is not in ${shown}`)
        }
        for (const both of [text, html]) assert.doesNotMatch(both, /undefined|\[object|\$\{|NaN/)
        assert.doesNotMatch(html, /<script|<link|<b>|url\(|\son\w+=/i)
        for (const [style] of html.matchAll(/style="[^"]*/g)) assert.doesNotMatch(style, /'\s*</)
      })
    }
  })
}

it('the languages differ in every text, and counts have singular and plural', () => {
  for (const name of mailNames) {
    const [english, german] = [mail(name, 'en'), mail(name, 'de')]
    assert.notEqual(english.subject, german.subject)
    const lines = new Set(english.text.split('\n').filter(line => / /.test(line) && !line.includes(':')))
    for (const line of german.text.split('\n')) assert.ok(!lines.has(line) || line === '-- ', line)
  }
  assert.match(
    mail('passwordChanged', 'en').text,
    /No longer valid: 2 sessions, 1 connected app, 3 API keys\n/,
  )
  assert.match(mail('resetPassword', 'en').text, /within 1 hour\./)
  assert.match(mail('resetPassword', 'de').text, / 1 Stunde lang gültig/)
})

it('every kind of change has its own text in both languages', () => {
  const texts = ['en', 'de'].flatMap(language => [
    ...(['changed', 'reset', 'administrator'] as const).map(
      how => mail('passwordChanged', language, { ...sampleValues.passwordChanged, how }).text,
    ),
    ...(
      [
        'passkey-added',
        'passkey-removed',
        'codes-on',
        'codes-off',
        'recovery-codes',
        'provider-linked',
        'provider-unlinked',
      ] as const
    ).map(change => {
      const values = { ...sampleValues.protectionChanged, change, provider: 'Goo.gle' }
      const { subject, text } = mail('protectionChanged', language, values)
      assert.equal(/Goo\.\u2060gle/.test(subject + text), change.startsWith('provider'), change)
      return text
    }),
    ...(['owner', 'administrator'] as const).flatMap(by => [
      mail('accountDeleted', language, { by }).text,
      mail('addressChanged', language, { ...sampleValues.addressChanged, by }).text,
    ]),
    ...[true, false].map(mayAll => mail('keyCreated', language, { ...sampleValues.keyCreated, mayAll }).text),
    ...(['gone', 'failing'] as const).map(
      reason => mail('webhookPaused', language, { ...sampleValues.webhookPaused, reason }).text,
    ),
  ])
  assert.equal(new Set(texts).size, 36)
})

it('the origin of a request is shown to the owner of an account, but not at an address that may be a stranger’s', () => {
  const withOrigin = mailNames.filter(name => mail(name, 'en').text.includes('203.0.113.7'))
  assert.deepEqual(withOrigin, [
    'knownAddress',
    'resetPassword',
    'passwordChanged',
    'protectionChanged',
    'accountDeleted',
  ])
  assert.match(
    mail('resetPassword', 'de').text,
    /Zeitpunkt: 2\. Januar 2026 um 03:04 UTC\nGerät: Firefox, Linux\nIP-Adresse: 203\.0\.113\.7\n/,
  )
})

it('a mail to an unproven address contains no text that a user chose', () => {
  // Above all the name of a sign-up: "visit evil.example" would turn the mail into an advertisement.
  for (const name of [
    'finishSignUp',
    'knownAddress',
    'confirmAddress',
    'newAddress',
    'addressTaken',
    'resetPassword',
  ] as const) {
    const chosen = Object.entries(sampleValues[name]).filter(
      ([key, value]) => typeof value === 'string' && !/link$/i.test(key),
    )
    assert.deepEqual(chosen, [], name)
  }
})

const hostile: readonly (readonly [what: string, text: string, shown: RegExp])[] = [
  ['a header', 'x\r\nBcc: eve@example.com', /^x Bcc: eve@/],
  ['a paragraph', 'x\n\nYour account is locked.\u2028Call us.', /^x Your account is locked\. Call us\.$/],
  ['markup', '<a href="https://evil.example">Sign in</a>', /^<a href="https:/],
  ['a direction', '\u202egnp.live\u2066', /^gnp\.\u2060live$/],
  ['right-to-left text', 'שלום.com', /^\u2068.*\u2069$/],
  ['length', 'a'.repeat(10_000), /^a{99}…$/],
  ['invisible characters', 'a\u200b\u00ad\ufeff\u{e0041}b\0', /^ab$/],
  ['lone surrogates', '\ud83d\ude00\ud83d', /^\u{1f600}$/u],
]

/** Texts that mail programs turn into links: schemes, hosts with a known ending, addresses. */
const autoLinked = /https?:\/\/\S|www\.\w|[\w-]+[.。．｡](?:example|com|org|io)\b|\w@\w/i

describe('text that a user chose', () => {
  for (const [what, text, shown] of hostile) {
    it(`cannot add ${what}`, () => {
      assert.match(quoted(text).replaceAll('\u2060', what === 'a direction' ? '\u2060' : ''), shown)
    })
  }
  it('is not turned into a link by mail programs', () => {
    for (const text of [
      'visit evil.example now',
      'https://evil.example/x?y',
      'HTTP://EVIL.EXAMPLE',
      'www.evil.com',
      'eve@evil.com',
      'evil。com',
      'mailto:eve@evil.com',
    ])
      assert.doesNotMatch(quoted(text), autoLinked, text)
    assert.match('visit evil.example', autoLinked)
    assert.equal(quoted('Ada Lovelace, Inc. (London)'), 'Ada Lovelace, Inc. (London)')
  })
  it('is quoted in every value but links', () => {
    const values = {
      address: 'a@b.com',
      ownApps: ['x.com', '\n'],
      link: 'https://a.b/c',
      resetLink: 'https://a.b',
    }
    assert.deepEqual(quotedValues({ ...values, count: 3 }), {
      address: 'a@\u2060b.\u2060com',
      ownApps: ['x.\u2060com', ''],
      link: values.link,
      resetLink: values.resetLink,
      count: 3,
    })
  })
})

it('hostile values stay text in both parts, and add no link and no header', () => {
  const evil = '"><img src=x onerror=alert(1)>\r\nBcc: eve@evil.com\r\nhttps://evil.com/<script>'
  for (const language of catalogue.languages) {
    const mails = [
      mail('passwordChanged', language, { ...sampleValues.passwordChanged, ownApps: [evil, evil] }),
      mail('addressRequested', language, { ...sampleValues.addressRequested, address: evil }),
      mail('addressChanged', language, { ...sampleValues.addressChanged, address: evil }),
      mail('webhookPaused', language, { ...sampleValues.webhookPaused, host: evil }),
    ]
    for (const composed of mails) {
      const { subject, text, html } = composed
      assert.ok(![...linksOf(composed)].some(link => link.includes('evil')))
      assert.doesNotMatch(html, /<img|<script/)
      assert.doesNotMatch(`${subject}${text}`, /evil\.com|^Bcc|\r/m)
      assert.doesNotMatch(subject, /eve|[\r\n]/)
    }
  }
})

it('the brand is a logo or its initial, in colours with enough contrast', () => {
  const themed = (overrides: object) => {
    const { html } = compose('resetPassword', sampleValues.resetPassword, {
      ...{ texts: catalogue.texts('en'), language: 'en', theme: { ...theme, ...overrides } },
    })
    return html
  }
  assert.match(themed({ name: '👩‍🚀 Space' }), />👩‍🚀<\/span>/u)
  const logo = 'https://cdn.example.com/logo.png?a=1&b="2"'
  assert.match(
    themed({ logo }),
    /<img src="https:\/\/cdn\.example\.com\/logo\.png\?a=1&amp;b=&quot;2&quot;" alt=""/,
  )
  // Yellow on white is illegible.
  assert.doesNotMatch(themed({ colour: '#ffff00' }), /style="[^"]*color:#ffff00/)
})
