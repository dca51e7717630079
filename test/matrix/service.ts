/** The matrix's service: people, rows, and whoever asks. */
import assert from 'node:assert/strict'
import { type Fixture, withFixture } from '../conformance/oauth/server.ts'
import rich from '../models/rich.ts'
import type { Setup } from '../setups/setup.ts'
import { sqlite } from '../setups/sqlite.ts'
import { type Context, fill, oneSecret, openContext, type Secrets } from './context.ts'
import type { Credential } from './credentials.ts'
import { type Send, Tally } from './rest.ts'

/** `PORTICO_MATRIX=whole` takes every set of scopes on every set-up, as before a release. */
export const isWhole = process.env.PORTICO_MATRIX === 'whole'

export const settings = { autoMigrate: true, maxKeysPerUser: 1000 }

/** Answers by a session, and to those who might have one. */
function assertKeptByNobodyElse({ headers }: Response, isOwn: boolean, asked: string): void {
  assert.match(headers.get('vary') ?? '', /\bCookie\b/, asked)
  if (isOwn) assert.match(headers.get('cache-control') ?? '', /private|no-store/, asked)
}

export function sender(url: string): Send {
  return async ({ method, path, body }, headers) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const isOwn = 'Cookie' in headers && headers['Sec-Fetch-Site'] === 'same-origin'
    assertKeptByNobodyElse(response, isOwn, `${method} ${path}`)
    const text = await response.text()
    return { status: response.status, text, json: text === '' ? {} : JSON.parse(text) }
  }
}

/** Runs `use` with a service of the rich model whose rows hold the secrets. */
export async function withContext(
  use: (fixture: Fixture, context: Context) => Promise<void>,
  secrets: Secrets = oneSecret,
  setup: Setup = sqlite,
): Promise<void> {
  await withFixture(
    settings,
    async fixture => {
      const context = await openContext(fixture.place)
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

interface Bench {
  readonly context: Context
  readonly send: Send
  readonly tally: Tally
}

/** Checks each of the credentials; how often each outcome was met. */
export async function matrix(
  credentials: (fixture: Fixture) => Promise<readonly Credential[]>,
  check: (bench: Bench, by: Credential) => Promise<void>,
  setup: Setup = sqlite,
): Promise<Tally> {
  const tally = new Tally()
  const each = async (fixture: Fixture, context: Context) => {
    const bench = { context, send: sender(fixture.url), tally }
    for (const credential of await credentials(fixture)) await check(bench, credential)
  }
  await withContext(each, oneSecret, setup)
  return tally
}
