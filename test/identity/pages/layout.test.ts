/** The frame of every page, and the parts that several pages share. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../../../src/base/html.ts'
import { contrast, tileColours } from '../../../src/base/theme.ts'
import { english } from '../../../src/identity/mail/page-texts.ts'
import { appTile, initialOf, tileColour } from '../../../src/web/pages/components/tile.ts'
import { renderPage } from '../../../src/web/pages/frame/layout.ts'
import { renderReply } from '../../../src/web/pages/frame/reply.ts'
import { stylesheet } from '../../../src/web/pages/frame/stylesheet.ts'
import { providerButtons } from '../../../src/web/pages/sign-in/providers.ts'

const theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }
const frame = { theme, explorer: true, guides: true }
const menu = { here: '/account/keys/new', csrf: 'token', name: 'Ada <b>', email: 'ada@example.com' }
const content = html`<h1>Keys</h1>`

test('an account page has a brand, a navigation with the current entry marked, and sign-out last', () => {
  const rendered = renderPage(frame, { title: 'Keys', content, menu }, english)
  assert.match(rendered, /<a class="brand" href="\/"><span class="tile small" aria-hidden="true">E<\/span>/)
  assert.deepEqual(
    [...rendered.matchAll(/<a href="([^"]+)" aria-current="([^"]+)"/g)].map(([, path, kind]) => [path, kind]),
    [['/account/keys', 'true']],
  )
  assert.match(rendered, /Ada &lt;b&gt;/)
  assert.equal(rendered.indexOf('<main') > rendered.indexOf('Sign out'), true)
  assert.match(rendered, /href="\/docs"/)
  // In narrow windows a button opens the navigation without a script.
  const [, target] = /popovertarget="(\w+)"/.exec(rendered) ?? []
  assert.match(rendered, new RegExp(`<nav[^>]* id="${target}"[^>]* popover>`))
})

test('other pages are a centred card without navigation', () => {
  const rendered = renderPage(frame, { title: 'Sign in', content }, english)
  assert.match(rendered, /<body class="centred">/)
  assert.doesNotMatch(rendered, /<nav/)
})

test('a page with images of many origins names at most forty of them in its policy', () => {
  const images = Array.from({ length: 300 }, (_, at) => `https://images-${at}.example.com/logo.png`)
  const { headers } = renderReply(
    frame,
    {
      page: { title: 'Apps', content },
      images: [...images, ...images],
    },
    english,
  )
  const policy = headers[headers.indexOf('Content-Security-Policy') + 1] ?? ''
  assert.equal(policy.match(/https:\/\/images-\d+\.example\.com/g)?.length, 40)
})

test('the initial is the first letter or digit of a name, whatever surrounds it', () => {
  for (const [name, initial] of [
    ['reading list', 'r'],
    ['  “Notes”', 'N'],
    ['42', '4'],
    ['Élan', 'É'],
    ['\u{1f680} Rocket', 'R'],
    ['\u202eevil', 'e'],
    ['ש', 'ש'],
    ['!!!', '?'],
    ['', '?'],
    [`Z${'\u0301'.repeat(500)}`, 'Z\u0301\u0301\u0301'],
  ] as const) {
    assert.equal(initialOf(name), initial, name)
  }
})

test('a tile shows the initial if there is no logo, and white is legible on each of its colours', () => {
  const app = { clientId: 'c1', name: '<i>App', logoUri: undefined }
  assert.match(appTile(app).text, new RegExp(`class="tile c${tileColour('c1')}" aria-hidden="true">i<`))
  assert.match(appTile({ ...app, logoUri: 'https://example.com/a.png' }).text, /<img src="[^"]+" alt=""/)
  const css = stylesheet(theme)
  for (const [at, colour] of tileColours.entries()) {
    assert.ok(contrast(colour, '#ffffff') >= 4.5, colour)
    assert.ok(css.includes(`.tile.c${at} {`))
  }
})

test('each provider has its own form, with POST and the CSRF token', () => {
  assert.equal(providerButtons({ providers: [], csrf: 't', hidden: {} }), null)
  const providers = [
    { kind: 'google', id: 'google', name: 'Google' },
    { kind: 'oidc', id: 'own', name: '<Own>' },
  ]
  const rendered = html`${providerButtons({ providers, csrf: 't', hidden: { next: '/account' } })}`.text
  assert.equal(rendered.match(/<form method="post" action="\/account\/sign-in\/(google|own)"/g)?.length, 2)
  assert.equal(rendered.match(/name="csrf" value="t"/g)?.length, 2)
  assert.match(rendered, /name="next" value="\/account"/)
  assert.match(rendered, /Continue with &lt;Own&gt;/)
  // The icon is decorative, and is inlined in the page.
  assert.equal(rendered.match(/class="glyph[^>]* aria-hidden="true"/g)?.length, 2)
  assert.doesNotMatch(rendered, /<img|url\(|https?:| style=/)
})
