/**
 * Twenty concurrent requests with one code or one refresh token: one succeeds. A second use revokes the grant.
 * `PORTICO_RACE_ROUNDS=1000` runs as many rounds as before a release.
 */

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { suite, test } from 'node:test'
import { caseCount } from '../../cases.ts'
import { chosen, inWhole } from '../../chosen.ts'
import type { Browser } from '../../identity/conformance/browser.ts'
import {
  type App,
  clientCredentials,
  exchangeCode,
  type Fixture,
  newCode,
  newTokens,
  post,
  redirectUri,
  sharedFixtures,
} from '../../identity/conformance/server.ts'
import { rowSecurityNodes } from '../../setups/postgres.ts'
import { setups } from '../../setups/setups.ts'

const rounds = Number(process.env.PORTICO_RACE_ROUNDS ?? caseCount(25, 8))
const parallelRequests = 20
const scope = 'openid offline_access read:post read:user'
const withConsent = { prompt: 'consent' }
/** Disables the replay of a response to clients that refresh twice at the same time, which has its own test. */
const strict = { 'oauth.refreshReplay': '0 s' } as object

interface TokenResponse {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** Each on its own connection, so that they arrive concurrently. */
function sendAll(
  url: string,
  form: Readonly<Record<string, string>>,
  agent: Agent,
): Promise<TokenResponse[]> {
  const body = new URLSearchParams(form).toString()
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': Buffer.byteLength(body),
  }
  const send = () =>
    new Promise<TokenResponse>((resolve, reject) => {
      const sent = request(url, { method: 'POST', agent, headers }, message => {
        let text = ''
        message.on('data', chunk => {
          text += chunk
        })
        message.on('end', () => resolve({ status: message.statusCode ?? 0, json: JSON.parse(text) }))
        message.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  return Promise.all(Array.from({ length: parallelRequests }, send))
}

/** The successful response; all others must be `invalid_grant`. */
function winnerOf(answers: readonly TokenResponse[], round: number): Readonly<Record<string, string>> {
  const won = answers.filter(({ status }) => status === 200)
  const statuses = JSON.stringify(answers.map(({ status, json }) => [status, json.error]))
  assert.equal(won.length, 1, `round ${round}: ${statuses}`)
  for (const { status, json } of answers.filter(answer => answer.status !== 200))
    assert.deepEqual([status, json.error], [400, 'invalid_grant'], `round ${round}`)
  return won[0]?.json as Readonly<Record<string, string>>
}

async function assertRevoked({ call, url }: Fixture, app: App, tokens: Readonly<Record<string, string>>) {
  const { access_token = '', refresh_token = '' } = tokens
  assert.notEqual(access_token, '')
  assert.equal((await call('/api/v1/me', { key: access_token })).status, 401)
  if (refresh_token === '') return
  const answer = await post(`${url}/oauth/token`, {
    grant_type: 'refresh_token',
    refresh_token,
    ...clientCredentials(app),
  })
  assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_grant'])
}

type WithFixture = ReturnType<typeof sharedFixtures>

async function racing(
  inFixture: WithFixture,
  use: (fixture: Fixture, app: App, browser: Browser, agent: Agent) => Promise<void>,
) {
  await inFixture(async fixture => {
    const agent = new Agent({ keepAlive: true, maxSockets: parallelRequests })
    try {
      await use(fixture, await fixture.app(), fixture.browser(), agent)
    } finally {
      agent.destroy()
    }
  })
}

/** Row security adds nothing to a race. */
for (const setup of chosen([...setups, ...inWhole(rowSecurityNodes)]))
  suite(setup.name, () => {
    const inFixture = sharedFixtures(setup, strict)
    test(`${rounds} rounds of ${parallelRequests} concurrent redemptions of one code have one winner each (${setup.name})`, async () => {
      await racing(inFixture, async (fixture, app, browser, agent) => {
        for (let round = 0; round < rounds; round++) {
          const code = await newCode(fixture, app, { browser, person: fixture.ann, scope: 'read:user' })
          const form = {
            grant_type: 'authorization_code',
            code,
            redirect_uri: redirectUri,
            ...clientCredentials(app),
          }
          const tokens = winnerOf(await sendAll(`${fixture.url}/oauth/token`, form, agent), round)
          // The others were second uses, which revoke the first one's tokens.
          await assertRevoked(fixture, app, tokens)
        }
      })
    })

    test(`${rounds} rounds of ${parallelRequests} concurrent uses of one refresh token have one winner each (${setup.name})`, async () => {
      await racing(inFixture, async (fixture, app, browser, agent) => {
        for (let round = 0; round < rounds; round++) {
          const first = await newTokens(fixture, app, {
            browser,
            person: fixture.ann,
            scope,
            parameters: withConsent,
          })
          assert.ok(first.refresh_token)
          const form = {
            grant_type: 'refresh_token',
            refresh_token: first.refresh_token,
            ...clientCredentials(app),
          }
          const tokens = winnerOf(await sendAll(`${fixture.url}/oauth/token`, form, agent), round)
          await assertRevoked(fixture, app, tokens)
          await assertRevoked(fixture, app, first)
        }
      })
    })

    test(`reusing a code revokes the tokens of its first use (${setup.name})`, async () => {
      await inFixture(async fixture => {
        const app = await fixture.app()
        const browser = fixture.browser()
        const options = { browser, person: fixture.ann, scope, parameters: withConsent }
        for (const format of ['opaque', 'jwt']) {
          const raced = format === 'jwt' ? await fixture.app({ access_token_format: 'jwt' }) : app
          const code = await newCode(fixture, raced, options)
          const first = await exchangeCode(fixture.url, raced, code)
          assert.equal(first.status, 200, first.text)
          const tokens = first.json as Record<string, string>
          assert.equal((await fixture.call('/api/v1/me', { key: String(tokens.access_token) })).status, 200)
          const second = await exchangeCode(fixture.url, raced, code)
          assert.deepEqual([second.status, second.json.error], [400, 'invalid_grant'])
          await assertRevoked(fixture, raced, tokens)
        }
      })
    })

    test(`another app cannot redeem or invalidate a code (${setup.name})`, async () => {
      await inFixture(async fixture => {
        const [app, other] = [await fixture.app(), await fixture.app({ name: 'Other' })]
        const code = await newCode(fixture, app, { browser: fixture.browser(), person: fixture.ann })
        const wrong = await exchangeCode(fixture.url, other, code)
        assert.deepEqual([wrong.status, wrong.json.error], [400, 'invalid_grant'])
        const elsewhere = await exchangeCode(fixture.url, app, code, {
          redirect_uri: 'http://127.0.0.1:9/other',
        })
        assert.deepEqual([elsewhere.status, elsewhere.json.error], [400, 'invalid_grant'])
      })
    })

    test(`used codes and refresh tokens stay used after a restart (${setup.name})`, async () => {
      await inFixture(async fixture => {
        const app = await fixture.app()
        const browser = fixture.browser()
        const options = { browser, person: fixture.ann, scope, parameters: withConsent }
        const code = await newCode(fixture, app, options)
        const first = (await exchangeCode(fixture.url, app, code)).json as Record<string, string>
        const refresh = (refresh_token = '') =>
          post(`${fixture.url}/oauth/token`, {
            grant_type: 'refresh_token',
            refresh_token,
            ...clientCredentials(app),
          })
        const second = await refresh(first.refresh_token)
        assert.equal(second.status, 200, second.text)

        await fixture.restart()
        // Unused ones survive the restart.
        const { access_token, refresh_token } = second.json as Record<string, string>
        assert.equal((await fixture.call('/api/v1/me', { key: String(access_token) })).status, 200)
        const replayed = await refresh(first.refresh_token)
        assert.deepEqual([replayed.status, replayed.json.error], [400, 'invalid_grant'])
        // The second use revoked the grant.
        const third = await refresh(refresh_token)
        assert.deepEqual([third.status, third.json.error], [400, 'invalid_grant'])
        assert.equal((await fixture.call('/api/v1/me', { key: String(access_token) })).status, 401)
        const again = await exchangeCode(fixture.url, app, code)
        assert.deepEqual([again.status, again.json.error], [400, 'invalid_grant'])
      })
    })
  })
