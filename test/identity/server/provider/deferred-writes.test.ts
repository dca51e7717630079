/** A token request commits its writes once, before its response; a concurrent use of the same code writes nothing. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  clientCredentials,
  exchangeCode,
  type Fixture,
  newCode,
  newTokens,
  post,
  withFixture,
} from '../../conformance/server.ts'

const scope = 'offline_access read:post read:user'

async function commitsOf({ url }: Fixture): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^portico_commits_total (\d+)/m.exec(text)?.[1])
}

test('an exchange, a refresh and a client-credentials grant take one commit each', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const app = await fixture.app()
    const code = await newCode(fixture, app, { browser: fixture.browser(), person: fixture.ann, scope })
    const before = await commitsOf(fixture)
    const { json } = await exchangeCode(url, app, code)
    assert.equal((await commitsOf(fixture)) - before, 1)
    const refreshed = await post(`${url}/oauth/token`, {
      grant_type: 'refresh_token',
      refresh_token: String(json.refresh_token),
      ...clientCredentials(app),
    })
    assert.equal(refreshed.status, 200)
    assert.equal((await commitsOf(fixture)) - before, 2)
    await post(`${url}/oauth/token`, {
      grant_type: 'client_credentials',
      scope: 'read:post',
      ...clientCredentials(app),
    })
    assert.equal((await commitsOf(fixture)) - before, 3)
  })
})

/** The unconsumed records of a kind, as another process sees them: only what is committed. */
function stored(file: string, kind: string): readonly string[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database
      .prepare('SELECT id FROM _records WHERE kind = ? AND consumed_at IS NULL')
      .all(kind)
      .map(({ id }) => String(id))
  } finally {
    database.close()
  }
}

test('the second use of a code or refresh token gets no token, and revokes those of the first', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const file = fixture.deployment.database
    const app = await fixture.app()
    const browser = fixture.browser()
    for (let round = 0; round < 20; round++) {
      const person = fixture.ann
      const isCode = round % 2 === 0
      const use = isCode
        ? await newCode(fixture, app, { browser, person, scope }).then(
            code => () => exchangeCode(url, app, code),
          )
        : await newTokens(fixture, app, { browser, person, scope }).then(
            ({ refresh_token: token = '' }) =>
              () =>
                post(`${url}/oauth/token`, {
                  grant_type: 'refresh_token',
                  refresh_token: token,
                  ...clientCredentials(app),
                }),
          )
      const answers = await Promise.all([use(), use(), use()])
      const won = answers.filter(({ status }) => status === 200)
      assert.equal(won.length, 1)
      for (const { status, json } of answers.filter(answer => answer !== won[0])) {
        assert.deepEqual([status, Object.keys(json).sort()], [400, ['error', 'error_description']])
        assert.equal(json.error, 'invalid_grant')
      }
      // A second use ends the tokens of the first one (RFC 9700, 2.2.2 and 4.14.2).
      const key = String(won[0]?.json.access_token)
      assert.equal((await fixture.call('/api/v1/me', { key })).status, 401)
      for (const kind of ['AccessToken', 'RefreshToken', 'Grant'])
        assert.deepEqual(stored(file, kind), [], kind)
    }
  })
})

test('a token is committed before it is sent', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const { url } = fixture
    const file = fixture.deployment.database
    const own = { grant_type: 'client_credentials', scope: 'read:post', ...clientCredentials(app) }
    for (let count = 1; count <= 20; count++) {
      const { status } = await post(`${url}/oauth/token`, own)
      assert.equal(status, 200)
      assert.equal(stored(file, 'ClientCredentials').length, count)
    }
  })
})
