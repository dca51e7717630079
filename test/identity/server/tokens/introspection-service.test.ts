/** The fast path of introspection returns exactly what oidc-provider does: the same status, headers and body. */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import { Introspection } from '../../../../src/identity/server/tokens/introspection.ts'
import { isWhole } from '../../../cases.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  post,
  type TokenAnswer,
  withFixture,
} from '../../conformance/server.ts'

const spy = mock.method(Introspection.prototype, 'answer')

/** Headers that differ between responses, or belong to the connection. */
const changing = ['date', 'x-request-id', 'x-ratelimit-remaining', 'ratelimit', 'connection', 'keep-alive']

function comparable({ status, headers, json, text }: TokenAnswer) {
  const kept = [...headers].filter(([name]) => !changing.includes(name))
  return {
    status,
    headers: Object.fromEntries(kept),
    json,
    parts: Object.keys(json).sort(),
    length: text.length,
  }
}

interface Made {
  readonly name: string
  readonly token: string
}

async function dpopToken({ url }: Fixture, app: App): Promise<string> {
  const keys = await generateKeyPair('ES256', { extractable: true })
  const server = { issuer: url, token_endpoint: `${url}/oauth/token` }
  const client = { client_id: app.client_id }
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretPost(app.client_secret),
    { scope: 'read:post' },
    { DPoP: oauth.DPoP({}, keys), [oauth.allowInsecureRequests]: true },
  )
  return (await oauth.processClientCredentialsResponse(server, client, response)).access_token
}

/** A token of every kind and state. */
async function tokensOf(fixture: Fixture, app: App): Promise<readonly Made[]> {
  const { url, ann } = fixture
  const browser = fixture.browser()
  const scope = 'openid offline_access read:user read:post write:post'
  const fresh = () => newTokens(fixture, app, { browser, person: ann, scope })
  const token = (form: Readonly<Record<string, string>>) =>
    post(`${url}/oauth/token`, { ...form, ...clientCredentials(app) })
  const both = (name: string, tokens: Readonly<Record<string, unknown>>): Made[] => [
    { name: `${name} access`, token: String(tokens.access_token) },
    { name: `${name} refresh`, token: String(tokens.refresh_token) },
  ]
  const used = await fresh()
  const next = await token({ grant_type: 'refresh_token', refresh_token: used.refresh_token ?? '' })
  const narrow = await token({
    grant_type: 'refresh_token',
    refresh_token: String(next.json.refresh_token),
    scope: 'read:post',
  })
  const revoked = await fresh()
  await post(`${url}/oauth/revoke`, { token: revoked.refresh_token ?? '', ...clientCredentials(app) })
  const own = await token({ grant_type: 'client_credentials', scope: 'read:post' })
  const bare = await token({ grant_type: 'client_credentials' })
  const live = await fresh()
  const access = live.access_token ?? ''
  const changed = (at: number) =>
    `${access.slice(0, at)}${access[at] === 'A' ? 'B' : 'A'}${access.slice(at + 1)}`
  return [
    ...both('live', live),
    ...both('used up', used),
    ...both('next', next.json),
    ...both('narrowed', narrow.json),
    ...both('revoked', revoked),
    { name: 'id token', token: live.id_token ?? '' },
    { name: 'own', token: String(own.json.access_token) },
    { name: 'own, without scope', token: String(bare.json.access_token) },
    { name: 'bound', token: await dpopToken(fixture, app) },
    ...[0, 5, access.length - 1].map(at => ({ name: `changed at ${at}`, token: changed(at) })),
    ...[
      'x',
      '#',
      `#${'a'.repeat(43)}`,
      'a'.repeat(43),
      'a.b.c',
      'a.b',
      ' ',
      'é',
      `${access} `,
      `${access}.`,
    ].map(text => ({ name: `text ${text.slice(0, 10)}`, token: text })),
  ]
}

const hints = [{}, { token_type_hint: 'access_token' }, { token_type_hint: 'refresh_token' }]

/** The hints to send with a token: all, or each of them with a third of the tokens, another third in every state. */
const hintsFor = (index: number) => (isWhole ? hints : hints.slice(index % 3, (index % 3) + 1))

for (const format of ['opaque', 'jwt'] as const) {
  test(`both paths agree for every kind of token and client, before and after the app changes: ${format}`, async () => {
    // Other files may have introspected in this process.
    spy.mock.resetCalls()
    await withFixture({}, async fixture => {
      const { url, call, ann } = fixture
      const app = await fixture.app({ access_token_format: format })
      const others = [await fixture.app({ name: 'Other' }), await fixture.app({ type: 'public' })]
      const created = await tokensOf(fixture, app)
      let active = 0
      let states = 0
      const compare = async (state: string) => {
        states++
        for (const [index, { name, token }] of created.entries()) {
          for (const client of [app, ...others]) {
            const secret =
              client.client_secret === undefined ? { client_id: client.client_id } : clientCredentials(client)
            for (const hint of hintsFor(index + states)) {
              const form = { token, ...hint, ...secret }
              const fast = await post(`${url}/oauth/introspect`, form)
              // oidc-provider ignores unknown parameters; the fast path leaves such requests to it.
              const slow = await post(`${url}/oauth/introspect`, { ...form, unknown: 'x' })
              assert.deepEqual(comparable(fast), comparable(slow), `${state}: ${name}`)
              if (fast.json.active === true) active++
            }
          }
        }
      }
      await compare('at first')
      const path = `/api/v1/oauth_apps/${app.id}`
      const change = (body: object) => call(path, { method: 'PATCH', key: ann.key, body })
      assert.equal((await change({ scopes: ['read:post'] })).status, 200)
      await compare('with fewer scopes')
      assert.equal((await change({ scopes: ['email'], default_scopes: null })).status, 200)
      await compare('with none of them')
      assert.equal((await change({ scopes: null })).status, 200)
      await compare('with any')
      const answers = await Promise.all(spy.mock.calls.map(({ result }) => result))
      const byFastPath = answers.filter(answer => answer?.body?.toString().includes('"active":true')).length
      assert.equal(byFastPath, active, 'oidc-provider has handled a request of the fast path')
      spy.mock.resetCalls()
      assert.ok(active >= 4 * (isWhole ? 3 : 1) * 7, `only ${active} were active`)
      assert.equal((await call(path, { method: 'DELETE', key: ann.key })).status, 204)
      await compare('without the app')
    })
  })
}

for (const format of ['opaque', 'jwt'] as const) {
  test(`on both paths, the tokens of a deleted user are inactive: ${format}`, async () => {
    await withFixture({}, async fixture => {
      const { url, call, admin, ann, ben } = fixture
      const app = await fixture.app({ access_token_format: format })
      const scope = 'offline_access read:post'
      const tokensFor = (person: typeof ben) =>
        newTokens(fixture, app, { browser: fixture.browser(), person, scope })
      const [ofBen, ofAnn] = [await tokensFor(ben), await tokensFor(ann)]
      const active = async ({ access_token, refresh_token }: Readonly<Record<string, string>>) => {
        const answers: unknown[] = []
        for (const token of [access_token ?? '', refresh_token ?? '']) {
          for (const more of [{}, { unknown: 'x' }]) {
            const { json } = await post(`${url}/oauth/introspect`, {
              token,
              ...more,
              ...clientCredentials(app),
            })
            answers.push(json.active)
          }
        }
        return answers
      }
      assert.deepEqual(await active(ofBen), [true, true, true, true])
      assert.equal((await call(`/api/v1/users/${ben.id}`, { method: 'DELETE', key: admin.key })).status, 204)
      assert.deepEqual(await active(ofBen), [false, false, false, false])
      assert.deepEqual(await active(ofAnn), [true, true, true, true])
    })
  })
}

test('both paths agree on wrong secrets, repeated parameters, other content types and other client authentication', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const app = await fixture.app()
    const own = { grant_type: 'client_credentials', scope: 'read:post', ...clientCredentials(app) }
    const token = String((await post(`${url}/oauth/token`, own)).json.access_token)
    const secret = new URLSearchParams(clientCredentials(app)).toString()
    const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
    const requests: readonly (readonly [body: string, headers?: Readonly<Record<string, string>>])[] = [
      [`token=${token}&client_id=${app.client_id}`],
      [`token=${token}&client_id=${app.client_id}&client_secret=wrong`],
      [`token=${token}&client_id=${app.client_id}&client_secret=`],
      [`token=${token}&client_id=nobody&client_secret=x`],
      [`token=&${secret}`],
      [secret],
      [`token=${token}&token=${token}&${secret}`],
      [`token=${token}&${secret}&client_id=${app.client_id}`],
      [`token=${token}`, { Authorization: `Basic ${basic}` }],
      [`token=${token}&${secret}`, { Authorization: `Basic ${basic}` }],
      [`token=${token}&${secret}`, { Origin: 'https://app.example.com' }],
      [`token=${token}&${secret}`, { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' }],
      [`token=${token}&${secret}`, { 'Content-Type': 'APPLICATION/X-WWW-FORM-URLENCODED' }],
      [JSON.stringify({ token, ...clientCredentials(app) }), { 'Content-Type': 'application/json' }],
      [`token=${token}&${secret}`, { Accept: 'text/html' }],
      [`__proto__=x&token=${token}&${secret}`],
      [`token=%ff${token}&${secret}`],
    ]
    for (const [body, headers = {}] of requests) {
      const fast = await post(`${url}/oauth/introspect`, body, headers)
      const slow = await post(
        `${url}/oauth/introspect`,
        body.startsWith('{') ? body : `${body}&unknown=x`,
        headers,
      )
      assert.deepEqual(comparable(fast), comparable(slow), `${body} ${JSON.stringify(headers)}`)
    }
  })
})
