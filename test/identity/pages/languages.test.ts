/** The texts of pages: complete in each language, chosen as for mails, and replaced by a project’s own. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { catalogue as errors } from '../../../src/base/errors.ts'
import { html, render } from '../../../src/base/html.ts'
import { passwordFault } from '../../../src/identity/accounts/sign-in/password-rules.ts'
import { createCatalogue } from '../../../src/identity/mail/catalogue.ts'
import { de } from '../../../src/identity/mail/de-pages.ts'
import { english, t, translated } from '../../../src/identity/mail/page-texts.ts'
import { maxPasswordCharacters } from '../../../src/identity/password.ts'
import { openidScopes } from '../../../src/model/builtin/builtin.ts'
import { open } from '../accounts/mail-fixture.ts'
import { formTo, signIn, submitForm } from '../accounts/self-service/own-pages.ts'
import { Browser, type Page } from '../conformance/browser.ts'
import { authorizationUrl, redirectUri, withFixture } from '../conformance/server.ts'

const root = resolve(import.meta.dirname, '../../..')
const german = createCatalogue().pages('de')

/** The parts of a text that stay: values, code, and the addresses of links. */
const fixed = /\{\w+\}|`[^`]*`|\]\([^)]*\)/g

test('a German text has the values, the code and the links of the English one, and is another text', () => {
  const same: string[] = []
  for (const [text, translation] of Object.entries(de)) {
    const parts = (of: string) => [...new Set(of.match(fixed))].sort()
    assert.deepEqual(parts(translation), parts(text), text)
    assert.equal(/[.:?]$/.test(translation), /[.:?]$/.test(text), `the end of: ${text}`)
    if (translation === text) same.push(text)
  }
  // Names of things, which German has from English.
  assert.ok(same.length < 30, String(same))
})

test('every text is used, and every message that pages may show is a text', () => {
  const folders = ['src/web', 'src/identity', 'src/model', 'src/base']
  const files = folders.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts') && !name.includes('de-pages'))
      .map(name => readFileSync(join(root, folder, name), 'utf8')),
  )
  const sources = files.join('\n')
  const composed = new Set([
    passwordFault('short', 'a@example.com'),
    passwordFault('x'.repeat(maxPasswordCharacters + 1), 'a@example.com'),
    // `readableName` makes it of the collection’s name.
    'Webhook deliveries',
  ])
  const unused = Object.keys(de).filter(text => !composed.has(text) && !sources.includes(text))
  assert.deepEqual(unused, [])
  const shown = [...composed, ...openidScopes.values(), errors.NOT_FOUND.message, errors.FORBIDDEN.message]
  for (const text of shown) assert.ok(Object.hasOwn(de, String(text)), String(text))
})

test('values, code and links are written into a text, and what a value contains is no markup', () => {
  const evil = '<b>{name}</b> [x](/y) `z`'
  const text = t('{browser} on {system}', { browser: evil, system: html`<i>1</i>` })
  const escaped = '&lt;b&gt;{name}&lt;/b&gt; [x](/y) `z`'
  assert.equal(render(text, english), `${escaped} on <i>1</i>`)
  assert.equal(render(html`<p title="${text}">${text}</p>`, german).includes(`${escaped} auf <i>1</i>`), true)
  assert.equal(
    render(t('You can revoke its access at any time under [Connected apps](/account/apps).'), german),
    'Sie können den Zugriff jederzeit unter <a href="/account/apps">Verbundene Apps</a> widerrufen.',
  )
  // Programs and the log get English.
  assert.equal(
    String(t('Wait {count} seconds, then try again.', { count: 3 })),
    'Wait 3 seconds, then try again.',
  )
  assert.equal(translated('toString'), 'toString')
})

const folder = mkdtempSync(join(tmpdir(), 'portico-page-texts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A file of templates with texts of pages in `languages`. */
function templates(name: string, languages: Readonly<Record<string, object>>): string {
  const file = join(folder, `${name}.ts`)
  const index = JSON.stringify(join(root, 'src/index.ts'))
  const declared = Object.entries(languages).map(([tag, pages]) => [tag, { pages }])
  writeFileSync(
    file,
    `import { defineMailTemplates } from ${index}\nexport default defineMailTemplates(${JSON.stringify(Object.fromEntries(declared))})\n`,
  )
  return file
}

const letter = 'ж'
const pseudo = Object.fromEntries(
  Object.keys(de).map(text => [
    text,
    text.replaceAll(/\{\w+\}|`[^`]*`|\]\([^)]*\)|[A-Za-z]/g, part => (part.length > 1 ? part : letter)),
  ]),
)

/** What is not the page’s own words: names, code, dates, and what is marked as English. */
const others =
  /<(code|bdi|time|kbd|pre|title|strong)\b[^>]*>[\s\S]*?<\/\1>|<(\w+)[^>]* lang="en"[^>]*>[\s\S]*?<\/\2>|<!doctype html>/g

/** The English words of a page. */
function englishWords({ text }: Pick<Page, 'text'>): readonly string[] {
  // The model’s own description is in the model’s language.
  const own = text.replaceAll(others, ' ').replaceAll('The posts of the blog.', ' ')
  const labels = [
    ...own.matchAll(/ (?:aria-label|placeholder|alt|title|data-(?:hint|none|some|fault|copied))="([^"]*)"/g),
  ]
  const texts = [...labels.map(([, label = '']) => label), own.replaceAll(/<[^>]*>/g, ' ')].join(' ')
  const words = texts.replaceAll(/&#?\w+;|\S+@\S+|https?:\S+|\{\w+\}/g, ' ').match(/[A-Za-z][a-z]{2,}/g)
  return [...new Set(words)]
}

/** Names: of the service, a user, a key, a collection, languages of samples. `de-XA` has German months and conjunctions. */
const names = new Set(
  'Portico Ann all Posts posts curl fetch Python Typed client Dezember Februar November und'.split(' '),
)

test('no page has words outside the catalogue', async () => {
  const settings = {
    ...{ 'mail.templates': templates('pseudo', { 'de-XA': pseudo }), 'mail.language': 'de-XA' },
    ...({ 'mail.smtp': 'smtp://127.0.0.1:9', 'accounts.signUp': 'open' } as const),
  }
  await withFixture(settings, async fixture => {
    const { ann, url } = fixture
    const found: Record<string, readonly string[]> = {}
    const assertPseudo = (page: Page) => {
      assert.match(page.text, /<html lang="de-XA">/, page.url.pathname)
      const words = englishWords(page).filter(word => !names.has(word))
      if (words.length > 0) found[page.url.pathname] = words
    }
    const stranger = fixture.browser()
    for (const path of ['sign-in', 'sign-up', 'reset', `reset?token=${'x'.repeat(43)}`, 'nothing'])
      assertPseudo(await open(stranger, `/account/${path}`))
    for (const path of [
      '/',
      '/docs',
      '/docs/guides',
      '/docs/errors',
      '/graphql',
      '/oauth/device',
      '/nothing',
    ])
      assertPseudo(await open(stranger, path))
    const { visitor, landed } = await signIn(fixture, ann, '/account')
    assertPseudo(landed)
    for (const path of ['profile', 'profile/export', 'profile/delete', 'security', 'sessions', 'apps'])
      assertPseudo(await open(visitor, `/account/${path}`))
    for (const path of ['keys', 'keys/new', 'developer', 'developer/new', 'webhooks', 'webhooks/new'])
      assertPseudo(await open(visitor, `/account/${path}`))
    const key = await open(visitor, '/account/keys/new')
    const made = { name: 'Ann', end: '90', access: 'some', 'level-post': 'write', 'level-user': 'read' }
    assertPseudo(await submitForm(visitor, formTo(key, '/account/keys/new'), made))
    assertPseudo(await open(visitor, '/account/keys'))
    assertPseudo(await submitForm(visitor, formTo(key, '/account/keys/new')))
    const app = await fixture.app()
    const request = { response_type: 'code', client_id: app.client_id, redirect_uri: redirectUri }
    const consent = await visitor.open(authorizationUrl(url, { ...request, scope: 'openid write:post' }))
    assertPseudo(consent as Page)
    assert.deepEqual(found, {})
  })
})

/** A browser that prefers a language. */
class SpeakingBrowser extends Browser {
  languages = 'de-CH, de;q=0.9'

  override send(...[url, options = {}]: Parameters<Browser['send']>) {
    const headers = { 'Accept-Language': this.languages, ...options.headers }
    return super.send(url, { ...options, headers })
  }
}

function languageOf({ text }: Pick<Page, 'text'>): string | undefined {
  return /<html lang="([^"]*)">/.exec(text)?.[1]
}

test('a page is in the language of the user, otherwise of the browser, otherwise of the service', async () => {
  await withFixture(
    { 'mail.templates': templates('own', { en: { 'Sign in': 'Log in' } }) },
    async fixture => {
      const { ann, url } = fixture
      const visitor = new SpeakingBrowser(url)
      const paths = [
        '/account/sign-in',
        '/',
        '/docs',
        '/docs/errors',
        '/graphql',
        '/oauth/device',
        '/account/nothing',
        '/no',
      ]
      for (const path of paths) {
        visitor.languages = 'de-CH, de;q=0.9'
        assert.equal(languageOf(await open(visitor, path)), 'de', path)
        visitor.languages = 'fr'
        assert.equal(languageOf(await open(visitor, path)), 'en', path)
      }
      assert.match((await open(visitor, '/account/sign-in')).text, /<h1>Log in<\/h1>/)
      visitor.languages = 'de'
      const form = await open(visitor, '/account')
      assert.match(form.text, /<h1>Anmelden<\/h1>/)
      await submitForm(visitor, formTo(form, '/account/sign-in'), {
        email: ann.email,
        password: ann.password,
      })
      // From now on it is the language of the account, as for its mails.
      visitor.languages = 'en'
      for (const path of ['/account', '/docs', '/graphql', '/account/keys/999'])
        assert.equal(languageOf(await open(visitor, path)), 'de', path)
      const answered = await visitor.send(new URL('/docs', url))
      assert.match(String(answered.headers.vary), /Cookie.*Accept-Language/)
      assert.match(String(answered.headers['cache-control']), /^private/)
      assert.match(String((await open(visitor, '/account')).headers['cache-control']), /no-store/)
      const explorer = await visitor.send(new URL('/graphql', url))
      assert.match(String(explorer.headers.vary), /Accept-Language, Cookie/)
      assert.match(String(explorer.headers['cache-control']), /^private/)
      // Programs get English.
      const { text } = await visitor.send(new URL('/account/nothing', url), {
        headers: { Accept: 'application/json' },
      })
      assert.match(text, /There is nothing here/)
    },
  )
})
