/** The service of the matrix: users, rows and credentials. */
import assert from 'node:assert/strict'
import { type Fixture, withFixture } from '../../identity/conformance/server.ts'
import rich from '../../models/rich.ts'
import type { Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { type Context, defaultSecrets, fill, openContext, type Secrets } from './context.ts'
import type { Credential } from './credentials.ts'
import { type PlainAnswer, request } from './request.ts'
import { type MatrixRun, type Send, Tally } from './rest.ts'

export const settings = { autoMigrate: true, quotas: { keys: 1000 } }

/** Shared caches must not store a response to a session, nor use a stored one for it. */
function assertNotShared({ headers }: PlainAnswer, isOwn: boolean, request: string): void {
  assert.match(headers.vary ?? '', /\bCookie\b/, request)
  if (isOwn) assert.match(headers['cache-control'] ?? '', /private|no-store/, request)
}

export function sender(url: string): Send {
  return async ({ method, path, body }, headers) => {
    const answer = await request(url + path, method, headers, body)
    const isOwn = 'Cookie' in headers && headers['Sec-Fetch-Site'] === 'same-origin'
    assertNotShared(answer, isOwn, `${method} ${path}`)
    const { status, text } = answer
    const isJson = /^application\/(?:[\w-]+\+)?json\b/.test(String(answer.headers['content-type']))
    return { status, text, json: isJson ? JSON.parse(text) : {} }
  }
}

/** Runs `use` with a service of the rich model whose rows contain the secrets. */
export async function withContext(
  use: (fixture: Fixture, context: Context) => Promise<void>,
  secrets: Secrets = defaultSecrets,
  setup: Setup = sqlite,
): Promise<void> {
  await withFixture(
    settings,
    async fixture => {
      const context = await openContext(fixture.deployment)
      try {
        await fill(context, secrets)
        await use(fixture, context)
      } finally {
        await context.close()
      }
    },
    rich,
    setup,
  )
}

/** Runs the check with each of the credentials; returns the number of each outcome. */
export async function matrix(
  credentials: (fixture: Fixture) => Promise<readonly Credential[]>,
  check: (run: MatrixRun, credential: Credential) => Promise<void>,
  setup: Setup = sqlite,
): Promise<Tally> {
  const tally = new Tally()
  const checkAll = async (fixture: Fixture, context: Context) => {
    const run = { context, send: sender(fixture.url), tally }
    for (const credential of await credentials(fixture)) await check(run, credential)
  }
  await withContext(checkAll, defaultSecrets, setup)
  return tally
}
