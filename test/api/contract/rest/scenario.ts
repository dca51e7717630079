/** A scenario is a row: a request by a caller, and what the reply must and must not contain. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Reply } from '../../../../src/base/call.ts'
import type { Principal } from '../../../../src/base/principal.ts'
import type { Model } from '../../../../src/model/model.ts'
import type { Harness, OpenHarness, Request } from './harness.ts'

export interface Scenario extends Request {
  readonly name: string
  readonly as: Principal
  readonly status: number
  /** A header's value, a pattern for it, or null when it must not be there. */
  readonly sends?: Readonly<Record<string, string | RegExp | null>>
  /** The parsed body contains at least this; arrays match item by item and in length. */
  readonly has?: unknown
  /** Texts that the body must not contain. */
  readonly lacks?: readonly string[]
  /** The collections that the request changes; none by default. */
  readonly changes?: readonly string[]
}

export type Seed = (harness: Harness) => Promise<void>

function headerOf({ headers }: Reply, name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) return headers[index + 1]
  }
  return undefined
}

function assertHolds(actual: unknown, expected: unknown, path: string): void {
  if (expected instanceof RegExp) assert.match(String(actual), expected, path)
  else if (typeof expected !== 'object' || expected === null) assert.equal(actual, expected, path)
  else assertMembers(actual, expected, path)
}

function assertMembers(actual: unknown, expected: object, path: string): void {
  assert.ok(
    typeof actual === 'object' && actual !== null,
    `${path} must be an object or array, not ${actual}`,
  )
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, `${path}.length`)
  for (const [key, value] of Object.entries(expected)) {
    if (value === undefined) assert.ok(!Object.hasOwn(actual, key), `${path}.${key} must not be there`)
    else assertHolds((actual as Record<string, unknown>)[key], value, `${path}.${key}`)
  }
}

function bodyText({ body }: Reply): string {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : ''
}

/** Checks the form that every error has. */
function assertError(reply: Reply): void {
  const { error } = JSON.parse(bodyText(reply))
  assert.deepEqual(
    Object.keys(error).filter(key => key !== 'details'),
    ['code', 'message'],
  )
  assert.match(error.code, /^[A-Z_]+$/)
  assert.equal(headerOf(reply, 'Cache-Control'), 'no-store')
}

function assertReply(reply: Reply, scenario: Scenario): void {
  const text = bodyText(reply)
  assert.equal(reply.status, scenario.status, text)
  for (const [name, expected] of Object.entries(scenario.sends ?? {})) {
    const sent = headerOf(reply, name)
    if (expected === null) assert.equal(sent, undefined, name)
    else if (expected instanceof RegExp) assert.match(sent ?? '', expected, name)
    else assert.equal(sent, expected, name)
  }
  if (headerOf(reply, 'Content-Type') === 'application/json' && reply.status >= 400) assertError(reply)
  if (scenario.has !== undefined) assertHolds(JSON.parse(text), scenario.has, 'body')
  for (const lacking of scenario.lacks ?? []) assert.ok(!text.includes(lacking), `${lacking} is in ${text}`)
}

/** A harness with the dump of its store. */
interface Seeded {
  readonly harness: Harness
  readonly dump: ReadonlyMap<string, string>
}

/**
 * Runs tests on harnesses with the same data. A test that changes nothing leaves its harness to the next one, because
 * filling a database costs far more than a request. A test with `changes` starts on a new one.
 */
export function seededHarnesses(model: Model, open: OpenHarness, seed: Seed) {
  let shared: Seeded | undefined
  const closeShared = async () => {
    const last = shared
    shared = undefined
    await last?.harness.close()
  }
  const openSeeded = async (): Promise<Seeded> => {
    const harness = await open(model)
    try {
      await seed(harness)
      return { harness, dump: await harness.dump() }
    } catch (error) {
      await harness.close()
      throw error
    }
  }
  after(closeShared)
  return async (changes: boolean, run: (seeded: Seeded) => Promise<void>): Promise<void> => {
    if (changes) await closeShared()
    const seeded = shared ?? (await openSeeded())
    shared = seeded
    try {
      await run(seeded)
    } catch (error) {
      await closeShared()
      throw error
    }
    if (changes) await closeShared()
  }
}

async function runScenario({ harness, dump: before }: Seeded, scenario: Scenario): Promise<void> {
  const reply = await harness.send(scenario, scenario.as)
  assertReply(reply, scenario)
  const after = await harness.dump()
  const changed = [...after].filter(([name, text]) => before.get(name) !== text).map(([name]) => name)
  assert.deepEqual(changed.sort(), [...(scenario.changes ?? [])].sort(), 'what changed')
}

/** One test for each row; rows that change nothing share a database. */
export function runScenarios(model: Model, open: OpenHarness, seed: Seed, rows: readonly Scenario[]): void {
  const withHarness = seededHarnesses(model, open, seed)
  for (const row of rows) {
    const { name, method = 'GET', url, changes } = row
    test(`${method} ${url.slice(0, 80)}: ${name}`, () =>
      withHarness(changes !== undefined, seeded => runScenario(seeded, row)))
  }
}
