/** A public address with a path: every address in an answer keeps it, whether the proxy strips it from requests or not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBasePath, withoutBasePath } from '../../../src/base/base-path.ts'
import { createClient } from '../../../src/client.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import type blog from '../../models/blog.ts'
import { withService } from './service.ts'

const base = 'https://example.com/backend'

test('requests are told apart, with the base path and without it', () => {
  const rows: readonly (readonly [target: string, inside: string])[] = [
    ['/backend/api/v1/posts?page=1', '/api/v1/posts?page=1'],
    ['/api/v1/posts', '/api/v1/posts'],
    ['/backend', '/'],
    ['/backend?x=1', '/?x=1'],
    ['/backend/', '/'],
    ['/backendish/x', '/backendish/x'],
    ['/.well-known/oauth-authorization-server/backend', '/.well-known/oauth-authorization-server'],
    ['/.well-known/openid-configuration/backend', '/.well-known/openid-configuration'],
    ['/backend/.well-known/openid-configuration', '/.well-known/openid-configuration'],
    ['/.well-known/oauth-protected-resource/backend/api/v1', '/.well-known/oauth-protected-resource/api/v1'],
    ['/.well-known/oauth-protected-resource/api/v1', '/.well-known/oauth-protected-resource/api/v1'],
  ]
  for (const [target, inside] of rows) assert.equal(withoutBasePath(target, '/backend'), inside, target)
  assert.equal(withoutBasePath('/api/v1/posts', '/api'), '/api/v1/posts')
  assert.equal(withoutBasePath('/api/api/v1/posts', '/api'), '/api/v1/posts')
  assert.equal(withoutBasePath('/api/docs', '/api'), '/docs')
})

test('references get the base path once', () => {
  const rows: readonly (readonly [reference: string, outside: string])[] = [
    ['/docs', '/backend/docs'],
    ['/', '/backend/'],
    ['/backend/oauth/x', '/backend/oauth/x'],
    ['//other.example/x', '//other.example/x'],
    ['https://other.example/', 'https://other.example/'],
    ['#content', '#content'],
    ['?page=1', '?page=1'],
  ]
  for (const [reference, outside] of rows) assert.equal(withBasePath(reference, '/backend'), outside)
  assert.equal(withBasePath('/api/v1/posts/1', '/api'), '/api/api/v1/posts/1')
})

test('a base path that begins with a path of the service is refused', () => {
  for (const path of ['/docs', '/account/x', '/graphql', '/oauth', '/api/v1', '/hooks'])
    assert.throws(
      () => readSettings({ environment: { BASE_URL: `https://example.com${path}` } }),
      /begins with one of the service itself/,
      path,
    )
  for (const path of ['/api', '/backend', '/a/b', '/documents'])
    assert.equal(
      readSettings({ environment: { BASE_URL: `https://example.com${path}/` } }).baseUrl,
      `https://example.com${path}`,
    )
})

const address = /\s(?:href|src|action|formaction)="([^"]*)"/g

/** The local addresses in a page, without those of other origins. */
function addressesIn(page: string): readonly string[] {
  return [...page.matchAll(address)].map(([, text = '']) => text).filter(text => text.startsWith('/'))
}

test('every address of pages keeps the base path, and is answered with it and without it', () =>
  withService({ baseUrl: base, rateLimit: 'off' }, async ({ call }) => {
    const seen = new Set<string>()
    const pages = [
      '/backend/',
      '/backend/docs',
      '/backend/account/sign-in',
      '/docs/guides',
      '/backend/graphql',
    ]
    for (const path of pages) {
      const page = await call(path, { headers: { Accept: 'text/html' } })
      assert.equal(page.status, 200, path)
      for (const found of addressesIn(page.text)) {
        assert.match(found, /^\/backend(?:\/|$)/, `${found} in ${path}`)
        seen.add(found.split('#', 1)[0] ?? '')
      }
    }
    assert.ok(seen.size > 20)
    for (const path of [...seen].filter((_, n) => n % 3 === 0)) {
      for (const asked of [path, path.slice('/backend'.length) || '/']) {
        const { status } = await call(asked, { headers: { Accept: 'text/html, */*' } })
        assert.ok(status < 400 || status === 405, `${asked}: ${status}`)
      }
    }
  }))

test('documents, locations and cookies keep the base path', () =>
  withService({ baseUrl: base, rateLimit: 'off' }, async ({ call, key, url }) => {
    for (const path of [
      '/.well-known/oauth-authorization-server/backend',
      '/.well-known/oauth-authorization-server',
      '/backend/.well-known/openid-configuration',
    ]) {
      const { json } = await call(path)
      assert.equal(json.issuer, base, path)
      for (const [name, value] of Object.entries(json))
        if (name.endsWith('_endpoint') || name === 'jwks_uri')
          assert.match(String(value), /^https:\/\/example\.com\/backend\/oauth\//, `${name} in ${path}`)
    }
    const { json: resource } = await call('/.well-known/oauth-protected-resource/backend/api/v1')
    assert.equal(resource.resource, `${base}/api/v1`)
    const { json: document } = await call('/backend/api/v1/openapi.json')
    assert.deepEqual(document.servers, [{ url: base }])
    for (const path of ['/backend/api/v1/posts', '/api/v1/posts']) {
      const created = await call(path, { method: 'POST', key, body: { title: 'One' } })
      assert.match(created.headers.get('location') ?? '', /^\/backend\/api\/v1\/posts\/\d+$/)
      const list = await call(`${path}?per_page=1`)
      assert.match(list.headers.get('link') ?? '', /^<(?:https:\/\/example\.com)?\/backend\/api\/v1\/posts\?/)
    }
    const problem = await call('/backend/api/v1/nothing', { headers: { Accept: 'application/problem+json' } })
    assert.match(String(problem.json.type), /^\/backend\/docs\/errors#/)
    const account = await fetch(`${url}/backend/account`, {
      headers: { Accept: 'text/html' },
      redirect: 'manual',
    })
    assert.match(account.headers.get('location') ?? '', /^\/backend\/account\/sign-in/)
    const form = await fetch(`${url}/backend/account/sign-in`)
    for (const cookie of form.headers.getSetCookie())
      assert.match(cookie, /^__Secure-.*; path=\/backend(?:;|$)/i)
    assert.ok(form.headers.getSetCookie().length > 0)
  }))

test('an authorization request leads to pages and cookies below the base path', () =>
  withService({ baseUrl: base, rateLimit: 'off' }, async ({ call, key, url }) => {
    const app = { name: 'Reader', redirect_uris: ['https://app.example/back'], scopes: ['read:post'] }
    const { json } = await call('/api/v1/oauth_apps', { method: 'POST', key, body: app })
    const query = new URLSearchParams({
      ...{
        client_id: String(json.client_id),
        redirect_uri: 'https://app.example/back',
        response_type: 'code',
      },
      ...{ scope: 'read:post', state: 'x', code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' },
    })
    for (const prefix of ['/backend', '']) {
      const answer = await fetch(`${url}${prefix}/oauth/authorize?${query}`, { redirect: 'manual' })
      const location = answer.headers.get('location') ?? ''
      assert.match(location, /^\/backend\/oauth\/interaction\//, await answer.text())
      const cookies = answer.headers.getSetCookie()
      assert.ok(cookies.length > 0)
      for (const cookie of cookies) assert.match(cookie, /path=\/backend(?:\/|;|$)/i)
      const cookie = cookies.map(text => text.split(';', 1)[0]).join('; ')
      const page = await call(location, { headers: { Cookie: cookie, Accept: 'text/html' } })
      assert.equal(page.status, 200)
      assert.match(page.text, /<form[^>]* action="\/backend\/oauth\/interaction\//)
    }
  }))

test('the client takes the address with its path', () =>
  withService({ baseUrl: base, rateLimit: 'off' }, async ({ key, url }) => {
    const api = createClient<typeof blog>({ baseUrl: `${url}/backend`, token: key })
    const post = await api.posts.create({ title: 'One' })
    assert.deepEqual(
      (await api.posts.list()).data.map(({ id }) => id),
      [post.id],
    )
  }))
