/** Nothing from outside gets into a page as anything but text. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { attributes, drawing, html } from '../../../src/base/html.ts'
import { english } from '../../../src/identity/mail/page-texts.ts'
import { sessionsPage } from '../../../src/web/pages/account/sessions.ts'
import { browserName, deviceIcon } from '../../../src/web/pages/components/device-name.ts'
import { field, summary } from '../../../src/web/pages/components/form.ts'
import { renderPage } from '../../../src/web/pages/frame/layout.ts'
import { renderReply } from '../../../src/web/pages/frame/reply.ts'
import { consentPage } from '../../../src/web/pages/oauth/consent.ts'
import { createProtocolPages } from '../../../src/web/pages/oauth/protocol.ts'
import { signInPage } from '../../../src/web/pages/sign-in/sign-in.ts'

const theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }
const frame = { theme, explorer: true, guides: true }
const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;`

/** Fails unless the page contains the hostile text, and only as text. */
function assertHarmless(page: string): void {
  assert.ok(page.includes('&lt;script&gt;'), 'the text is missing')
  assert.doesNotMatch(page, /<script>|<img src=x|onerror=[^&]*>(?!&)/)
  assert.ok(!page.includes(evil))
}

test('texts are escaped, fragments are not, and null, undefined and false are omitted', () => {
  assert.equal(html`<p>${'<b>&"\''}</p>`.text, '<p>&lt;b&gt;&amp;&quot;&#39;</p>')
  assert.equal(
    html`<ul>${['a', '<b>'].map(text => html`<li>${text}</li>`)}</ul>`.text,
    '<ul><li>a</li><li>&lt;b&gt;</li></ul>',
  )
  assert.equal(html`${null}${undefined}${false}${0}${''}`.text, '0')
})

test('an object that only looks like a fragment is text', () => {
  const forged = JSON.parse('{"text":"<script>"}')
  assert.ok(!html`${forged}`.text.includes('<script>'))
})

test('unescaping a page gives back any text', () => {
  const plain = (text: string) =>
    text.replace(
      /&(lt|gt|amp|quot|#39);/g,
      (_, name) => ({ lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" })[name as 'lt'],
    )
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const written = html`${text}`.text
      assert.doesNotMatch(written, /[<>"']/)
      assert.equal(plain(written), text)
      assert.equal(attributes({ value: text }).text, ` value="${written}"`)
    }),
  )
})

test('an attribute that is true has no value, and one that is false, null or undefined is omitted', () => {
  assert.equal(attributes({ a: true, b: false, c: undefined, d: null, e: 0, f: '' }).text, ' a e="0" f=""')
})

test('`drawing` accepts an SVG of shapes, and nothing else', () => {
  assert.equal(
    drawing('<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>').text,
    '<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>',
  )
  for (const svg of ['<svg><script>1</script></svg>', '<svg></svg><p>', '<p>', '<svg><a href="x"/></svg>']) {
    assert.throws(() => drawing(svg), TypeError)
  }
})

test('a hostile name, address, e-mail or fault of an app stays text on every page', () => {
  const app = {
    clientId: 'x',
    name: evil,
    type: 'public',
    logoUri: `https://x/${evil}`,
    homepageUri: evil,
  } as const
  const scope = { scope: evil, sentence: evil }
  const choice = { ...scope, isNew: true, fixed: false, narrower: scope, access: undefined }
  const groups = [{ kind: 'data', choices: [choice] }] as const
  const interaction = { app, destination: evil, allowedBefore: new Set([evil]) }
  assertHarmless(
    renderPage(
      frame,
      consentPage({ theme, action: '/x', csrf: 'c', interaction, groups, email: evil }),
      english,
    ),
  )
  const faults = new Map([
    ['email', evil],
    ['form', evil],
  ])
  const signInForm = { action: '/x', csrf: 'c', remember: false, signUp: '/y', next: evil, note: evil }
  assertHarmless(
    renderPage(
      { ...frame, theme: { ...theme, name: evil } },
      signInPage({ ...signInForm, faults, email: evil, app: evil }),
      english,
    ),
  )
  const pages = createProtocolPages({ ...frame, theme: { ...theme, logo: evil } }, () => english)
  for (const kind of ['unknown-app', 'wrong-address', 'over', 'sign-out', 'service', 'request'] as const)
    assertHarmless(pages.error({ kind, error: evil, description: evil, app, requestId: evil, at: 0 }, evil))
  assertHarmless(
    pages.deviceCode(
      { action: evil, hidden: { xsrf: evil }, entered: evil, fault: evil, isStopped: false },
      evil,
    ),
  )
  assertHarmless(pages.deviceConfirm({ action: '/x', hidden: {}, app, userCode: evil }, evil))
  assertHarmless(pages.deviceDone({ app }, evil))
  assertHarmless(pages.signOut({ action: evil, hidden: { a: evil } }, evil))
  const session = {
    id: evil,
    userId: 1,
    signedInAt: 0,
    usedAt: 0,
    country: undefined,
    expiresAt: 1,
    address: evil,
    userAgent: evil,
    current: false,
  }
  const menu = { here: '/account/sessions', csrf: 'c', name: 'Ada', email: evil }
  assertHarmless(
    renderPage(frame, sessionsPage({ menu, sessions: [session], note: undefined, now: 0 }), english),
  )
})

test('a field is named by its label and described by its hint and fault', () => {
  const rendered = field(
    { name: 'email', label: 'E-mail', hint: 'Yours', autocomplete: 'email' },
    new Map([['email', 'Wrong']]),
  ).text
  assert.match(rendered, /<label for="email">E-mail<\/label>/)
  assert.match(rendered, /aria-describedby="email-hint email-fault"/)
  assert.match(rendered, /id="email-hint">Yours/)
  assert.match(rendered, /id="email-fault">Wrong/)
  assert.match(rendered, /aria-invalid="true"/)
  assert.doesNotMatch(field({ name: 'a', label: 'A', autocomplete: 'off' }).text, /aria-/)
})

test('each fault above a form links to its field; without faults there is no list', () => {
  const rendered = html`${summary(
    new Map([
      ['name', 'No name'],
      ['form', 'Not now'],
    ]),
  )}`.text
  assert.match(rendered, /<a href="#name">No name<\/a>/)
  assert.match(rendered, /<li>Not now<\/li>/)
  assert.equal(html`${summary(new Map())}`.text, '')
})

test('the policy of a page allows the service’s own resources and the given images', () => {
  const page = { title: 'A page', content: 'text' }
  const of = (options: object) => {
    const { headers } = renderReply(
      { ...frame, theme: { ...theme, logo: 'https://logo.example.com/a.png' } },
      { page, ...options },
      english,
    )
    return headers[headers.indexOf('Content-Security-Policy') + 1] ?? ''
  }
  const plain = of({})
  assert.match(plain, /^default-src 'none';/)
  assert.doesNotMatch(plain, /unsafe|\*/)
  assert.match(plain, /form-action 'self';/)
  assert.match(plain, /frame-ancestors 'none'/)
  assert.match(plain, /base-uri 'none'/)
  assert.match(plain, /img-src 'self' data: https:\/\/logo\.example\.com;/)
  assert.match(of({ leadsTo: 'com.example.app:' }), /form-action 'self' com\.example\.app:;/)
  for (const image of [
    'https://x.example.com;script-src *',
    'javascript:alert(1)',
    "x'; script-src *",
    undefined,
  ]) {
    assert.doesNotMatch(of({ images: [image] }), /script-src \*|javascript/)
  }
})

test('a browser is named from its User-Agent', () => {
  const known = [
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
      'Chrome on Linux',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Safari/604',
      'Safari on iPhone',
    ],
    ['Mozilla/5.0 (Windows NT 10.0; Win64) Chrome/140.0 Safari/537.36 Edg/140.0', 'Edge on Windows'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 14.0; rv:140.0) Firefox/140.0', 'Firefox on macOS'],
    ['', 'A browser'],
  ] as const
  for (const [userAgent, name] of known) assert.equal(String(browserName(userAgent)), name)
  const drawn = [
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604', 'phone'],
    ['Mozilla/5.0 (Linux; Android 16; SM-T870) Chrome/140.0 Safari/537.36', 'tablet'],
    ['Mozilla/5.0 (Linux; Android 16; Pixel 9) Chrome/140.0 Mobile Safari/537.36', 'phone'],
    ['curl/8.1', 'program'],
    ['', 'screen'],
  ] as const
  for (const [userAgent, icon] of drawn) assert.equal(deviceIcon(userAgent), icon)
})
