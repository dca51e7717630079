/** Sign-in, sign-up and password reset with the client: results and errors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccountClient, ApiError, createAccountClient, type SignUpValues } from '../../src/client.ts'
import { boolean, model, string, users } from '../../src/index.ts'
import { sharedFixtures } from '../identity/conformance/server.ts'
import { sqlite } from '../setups/sqlite.ts'

// Without a mail server, a reset is refused. Nothing listens at this one: the answers do not depend on it.
const withFixture = sharedFixtures(sqlite, {
  'accounts.signUp': 'open',
  'mail.smtp': 'smtp://127.0.0.1:1',
  'mail.from': 'blog@example.com',
})

/** Acts as a page of the origin; Node keeps no cookies. */
function pageOf(url: string, headers: Readonly<Record<string, string>> = { Origin: url }): AccountClient {
  return createAccountClient({ baseUrl: url, headers })
}

const refusal = (code: string, field?: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code && error.details?.[0]?.field === field

test('an app signs in, signs up and requests a password reset', async () => {
  await withFixture(async ({ ann, url }) => {
    const changes: unknown[] = []
    const onChange = (user: object | undefined) => changes.push(user)
    const account = createAccountClient({ baseUrl: url, headers: { Origin: url }, onChange })
    const { user } = await account.signIn(ann)
    assert.deepEqual(user, {
      ...{ id: ann.id, name: 'Ann', email: ann.email, role: 'user' },
      email_verified: false,
    })
    assert.equal(await account.user(), undefined)
    await account.signOut()
    assert.deepEqual(changes, [user, undefined])
    const values = { name: 'Dora', email: `d${ann.id}@example.com`, password: 'a good long password' }
    assert.equal((await account.signUp(values)).next, 'sign_in')
    assert.match(await account.requestReset(values.email), /If there is an account/)
    await assert.rejects(account.signIn({ ...values, password: 'wrong' }), refusal('UNAUTHORIZED'))
    await assert.rejects(account.signUp({ ...values, email: 'none' }), refusal('VALIDATION_FAILED', 'email'))
    const { password } = values
    await assert.rejects(account.reset({ token: 'x', password }), refusal('VALIDATION_FAILED', 'token'))
    await assert.rejects(pageOf(url, { Origin: 'https://evil.example' }).signIn(ann), refusal('FORBIDDEN'))
    await assert.rejects(account.signInWithPasskey(), TypeError)
  })
})

test('no attempt is retried', async () => {
  const statuses = [503, 429]
  let sent = 0
  const account = createAccountClient({
    baseUrl: 'https://id.example.com/base/',
    fetch: async (url, init) => {
      assert.equal(url, 'https://id.example.com/base/account/sign-in')
      assert.equal(init?.redirect, 'manual')
      return Response.json({}, { status: statuses[sent++] ?? 500, headers: { 'Retry-After': '0' } })
    },
  })
  const values = { email: 'a@example.com', password: 'x' }
  await assert.rejects(account.signIn(values), { code: 'HTTP_503' })
  await assert.rejects(account.signIn(values), { code: 'HTTP_429', retryAfter: 0 })
  assert.equal(sent, 2)
})

test('a sign-up is typed by the model', () => {
  const shop = model({
    users: users({
      fields: {
        company: string({ optional: true, signUp: true }),
        news: boolean({ default: false, signUp: true }),
      },
    }),
  })
  const values: SignUpValues<typeof shop> = {
    ...{ name: 'A', email: 'a@example.com', password: 'x' },
    ...{ company: 'B', news: true },
  }
  // @ts-expect-error: no such field.
  const wrong: SignUpValues<typeof shop> = { ...values, compny: 'B' }
  // @ts-expect-error: the role cannot be set at sign-up.
  const role: SignUpValues<typeof shop> = { ...values, role: 'admin' }
  assert.ok(wrong && role)
})
