/** Forms and their CSRF tokens, as any client might send them. */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Call } from '../../../src/base/call.ts'
import { isAccountPath } from '../../../src/identity/accounts/paths.ts'
import { safeNext } from '../../../src/web/account/context.ts'
import { createCsrf } from '../../../src/web/account/csrf.ts'
import { readForm, readQuery } from '../../../src/web/account/form-body.ts'
import { schemeOf } from '../../../src/web/account/sign-in/interaction.ts'

const issuer = 'https://id.example.com'

function callWith(headers: Call['headers'], body = ''): Call {
  return {
    method: 'POST',
    url: '/account',
    path: '/account',
    query: '',
    headers,
    address: '192.0.2.1',
    requestId: 'r',
    body: Buffer.from(body),
  }
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }

/** The cookie that a first page sets, and the token in its forms. */
function firstVisit(address = issuer) {
  const csrf = createCsrf(address)
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  const token = csrf.token(callWith({}), res)
  const [cookie = ''] = [res.getHeader('set-cookie')].flat().map(line => String(line).split(';')[0] ?? '')
  return { csrf, token, cookie, res }
}

const refused = { code: 'FORBIDDEN' }

test('a form is accepted with the cookie that its token belongs to, even from a browser that omits Origin and Sec-Fetch-Site', () => {
  const { csrf, token, cookie } = firstVisit()
  csrf.check(callWith({ cookie }), token)
  csrf.check(callWith({ cookie: `a=b; ${cookie}; c=d` }), token)
  csrf.check(callWith({ cookie, origin: issuer }), token)
  csrf.check(callWith({ cookie, origin: issuer, 'sec-fetch-site': 'same-origin' }), token)
})

test('the token depends on the cookie alone, and differs between browsers', () => {
  const { csrf, token, cookie } = firstVisit()
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  assert.equal(csrf.token(callWith({ cookie }), res), token)
  assert.equal(res.getHeader('set-cookie'), undefined)
  assert.notEqual(firstVisit().token, token)
  assert.ok(!cookie.includes(token))
})

test('a form is refused with no cookie, another browser’s cookie, two cookies, or from another origin', () => {
  const { csrf, token, cookie } = firstVisit()
  const other = firstVisit()
  const foreign = [
    {},
    { cookie: '' },
    { cookie: other.cookie },
    { cookie: `${cookie}; ${other.cookie}` },
    { cookie: `${other.cookie}; ${cookie}` },
    { cookie: `${cookie}x` },
    { cookie, origin: 'null' },
    { cookie, origin: 'http://id.example.com' },
    { cookie, origin: 'https://id.example.com.evil.example.com' },
    { cookie, 'sec-fetch-site': 'cross-site' },
    { cookie, 'sec-fetch-site': 'same-site' },
    { cookie, 'sec-fetch-site': 'none' },
    { cookie, origin: issuer, 'sec-fetch-site': 'cross-site' },
  ]
  for (const headers of foreign) {
    assert.throws(() => csrf.check(callWith(headers), token), refused, JSON.stringify(headers))
  }
})

test('a token is refused unless it is that of the cookie', () => {
  const { csrf, token, cookie } = firstVisit()
  const guess = fc.oneof(
    fc.string(),
    fc.string({ minLength: 43, maxLength: 43 }),
    fc.nat(42).map(at => `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`),
    fc.constantFrom('', token.slice(0, -1), `${token}A`, cookie, cookie.split('=')[1] ?? '', 'é'.repeat(43)),
  )
  fc.assert(
    fc.property(guess, text => {
      assert.throws(() => csrf.check(callWith({ cookie }), text), refused)
    }),
  )
})

test('on https, a cookie that another host of the domain could set is ignored', () => {
  const plain = firstVisit('http://localhost:3000')
  assert.match(plain.cookie, /^portico_form=/)
  const { csrf } = firstVisit()
  assert.throws(() => csrf.check(callWith({ cookie: plain.cookie }), plain.token), refused)
})

test('fields are decoded as they were encoded; a repeated name is refused', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter(text => text !== 'scope')
  const pairs = fc.uniqueArray(fc.tuple(name, fc.string({ unit: 'grapheme' })), {
    selector: ([key]) => key,
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(pairs, fc.nat(), (sent, at) => {
      const body = new URLSearchParams(sent).toString()
      const form = readForm(callWith(formType, body))
      for (const [key, value] of sent) assert.equal(form.text(key), value)
      const [again = ''] = sent[at % sent.length] ?? []
      const twice = `${body}&${new URLSearchParams([[again, 'x']])}`
      assert.throws(() => readForm(callWith(formType, twice)), { code: 'BAD_REQUEST' })
    }),
  )
})

test('scopes may be repeated, and inherited properties are not fields', () => {
  const form = readForm(callWith(formType, 'scope=a&scope=b&empty=&__proto__=x'))
  assert.deepEqual(form.list('scope'), ['a', 'b'])
  assert.equal(form.optional('empty'), undefined)
  assert.equal(form.text('__proto__'), 'x')
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) assert.equal(form.text(name), '')
  assert.throws(() => readQuery({ query: 'next=a&next=b' }), { code: 'BAD_REQUEST' })
})

test('only form-urlencoded bodies in UTF-8 are accepted', () => {
  for (const type of [
    'application/x-www-form-urlencoded; charset=UTF-8',
    'Application/X-WWW-Form-Urlencoded',
  ]) {
    assert.equal(readForm(callWith({ 'content-type': type }, 'a=1')).text('a'), '1')
  }
  for (const type of [
    undefined,
    '',
    'text/plain',
    'application/json',
    'application/x-www-form-urlencoded; charset=utf-7',
    'application/x-www-form-urlencoded, text/plain',
    'application/x-www-form-urlencodedx',
  ]) {
    const headers = type === undefined ? {} : { 'content-type': type }
    assert.throws(() => readForm(callWith(headers, 'a=1')), { code: 'UNSUPPORTED_MEDIA_TYPE' }, type)
  }
})

test('after a sign-in, a user is redirected to account pages only, whatever `next` says', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.string().map(text => `/account${text}`),
      ),
      text => {
        const next = safeNext(text)
        if (next === undefined) return
        const url = new URL(next, issuer)
        assert.equal(url.origin, issuer)
        assert.equal(url.pathname + url.search, next)
        assert.ok(isAccountPath(url.pathname))
      },
    ),
    { numRuns: 1000 },
  )
  assert.equal(safeNext('/account/apps'), '/account/apps')
  assert.equal(safeNext('/account'), '/account')
  const deepest = '/account/developer/3/secrets/7/end'
  assert.equal(safeNext(deepest), deepest)
  const link = `/account/verify?token=${'a'.repeat(43)}`
  assert.equal(safeNext(link), link)
  for (const other of [`${link}&x=1`, `${link}#x`, '/account/apps?done=saved', '/account/verify?token=%2f'])
    assert.equal(safeNext(other), undefined, other)
})

test('the response to a consent may redirect to the app’s scheme, never to a script', () => {
  const known = [
    ['https://app.example.com', 'https:'],
    ['http://127.0.0.1:9', 'http: https:'],
    ['com.example.app:', 'com.example.app:'],
    ['javascript:', undefined],
    ['JavaScript:alert(1)', undefined],
    ['data:', undefined],
    ['no scheme; script-src *', undefined],
    [undefined, undefined],
  ] as const
  for (const [destination, source] of known) assert.equal(schemeOf(destination), source)
})

test('paths of account pages are distinguished from other paths', () => {
  for (const path of ['/account', '/account/x', '/oauth/interaction/abc'])
    assert.equal(isAccountPath(path), true)
  for (const path of [
    '/accounts',
    '/account.json',
    '/oauth/interaction',
    '/oauth/token',
    '/api/v1/account',
    '/',
  ]) {
    assert.equal(isAccountPath(path), false)
  }
})
