/** Replies and rows equal those of graphql-js with naive resolvers, for every model, rows, caller and mutations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import type { Principal } from '../../../src/base/principal.ts'
import type { LoggedChange } from '../../../src/engine/plan/change-feed.ts'
import type { ListShape } from '../../../src/engine/plan/plan.ts'
import type { Model } from '../../../src/model/model.ts'
import { cases } from '../../cases.ts'
import { principals } from '../../engine/plan/random.ts'
import type { Data, Row } from '../../engine/plan/reference.ts'
import { type OpenSeededStore, seededStores } from '../../setups/databases/seeded-store.ts'
import { dumpBy, dumpShape } from '../contract/rest/harness.ts'
import { type NaiveError, type NaiveReply, naiveMutation } from './naive.ts'
import { type GeneratedOperation, randomMutation } from './random-document.ts'
import { type ModelAndData, modelsWithData } from './random-model.ts'
import { type Reply, reply, type SeededEngine, withEngine } from './seeded-engine.ts'

const mutationsPerRun = 20

/** Codes of refusals, whatever the database. */
const codes = new Set<string>()

/** Queried after every mutation, so that a node must drop replies cached before another node's write. */
const shapes = new WeakMap<Model, ReadonlyMap<string, ListShape>>()

function shapesOf(model: Model): ReadonlyMap<string, ListShape> {
  const cached = shapes.get(model)
  if (cached) return cached
  const shapesByName = new Map([...model.collections.keys()].map(name => [name, dumpShape(model, name)]))
  shapes.set(model, shapesByName)
  return shapesByName
}

/** All rows, without access rules. */
async function allRows({ run }: SeededEngine, model: Model): Promise<Data> {
  const rows = [...shapesOf(model)].map(async ([name, shape]) => {
    const text = await dumpBy(run, shape)
    return [name, JSON.parse(text.slice(text.indexOf(' ')))] as const
  })
  return Object.fromEntries(await Promise.all(rows))
}

/** Rows by id, with their fields in a fixed order. */
function inFixedOrder(data: Data): unknown {
  return Object.entries(data)
    .map(([name, rows]) => [name, rows.toSorted((a, b) => Number(a.id) - Number(b.id)).map(ordered)] as const)
    .filter(([, rows]) => rows.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

const ordered = (row: Row) => Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))

/** Compares the path of a refused write, and asserts that its code is one of the expected ones. */
function withExpectedCodes(actual: Reply, expected: NaiveReply, question: string): Reply {
  const errors = actual.errors.map((error, index) => {
    const { extensions } = expected.errors[index] ?? {}
    if (!extensions || !('codes' in extensions)) return error
    assert.ok(
      extensions.codes.includes(error.extensions?.code ?? ''),
      `${question}\n${JSON.stringify([error, extensions])}`,
    )
    const { locations, path } = error as NaiveError
    return { locations, path, extensions } as Reply['errors'][number]
  })
  return { errors, data: actual.data }
}

interface Counts {
  documents: number
  errors: number
  nulled: number
  data: number
  changed: number
  undecided: number
}

type Ids = ReadonlyMap<string, readonly number[]>

async function lastIds(seeded: OpenSeededStore, model: Model): Promise<ReadonlyMap<string, number>> {
  const lastIds = [...model.collections.keys()].map(async name => [name, await seeded.lastId(name)] as const)
  return new Map(await Promise.all(lastIds))
}

/** The assigned ids, and the next one, by collection. */
function ids(log: readonly LoggedChange[], before: ReadonlyMap<string, number>): Ids {
  const idsOf = (name: string, last: number): readonly number[] => {
    const created = log.filter(({ kind, collection }) => kind === 'created' && collection === name)
    const createdIds = created.map(({ id }) => id)
    return [...createdIds, Math.max(last, ...createdIds) + 1]
  }
  return new Map([...before].map(([name, last]) => [name, idsOf(name, last)]))
}

/**
 * A refused create still takes an id from a sequence in PostgreSQL. That id is unknown afterwards, though an
 * access rule may have depended on it.
 */
async function hasGaps(
  seeded: OpenSeededStore,
  before: ReadonlyMap<string, number>,
  expectedIds: Ids,
): Promise<boolean> {
  for (const [name, last] of before) {
    const createdCount = (expectedIds.get(name)?.length ?? 1) - 1
    if ((await seeded.lastId(name)) > last + createdCount) return true
  }
  return false
}

/** Returns the rows after the mutation. */
async function compareMutation(
  seededEngine: SeededEngine,
  { model, data }: ModelAndData,
  operation: GeneratedOperation,
  who: Principal,
  counts: Counts,
): Promise<Data> {
  const { engine, seeded } = seededEngine
  const { store } = seeded
  const before = await lastIds(seeded, model)
  const since = await store.changes.last()
  const actual = await reply(engine, operation, who)
  const createdIds = ids(await store.changes.after(since, 10_000), before)
  const after = await allRows(seededEngine, model)
  const expected = naiveMutation({ model, data, schema: engine.schema, who }, operation, createdIds)
  if (!expected) return after
  const question = `${operation.source}\n${JSON.stringify(operation.variables)}\n${who.userId} ${who.access.key}`
  try {
    assert.equal(
      JSON.stringify(withExpectedCodes(actual, expected.reply, question)),
      JSON.stringify(expected.reply),
      question,
    )
    assert.deepEqual(inFixedOrder(after), inFixedOrder(expected.data), question)
  } catch (error) {
    if (!(await hasGaps(seeded, before, createdIds))) throw error
    counts.undecided++
    return after
  }
  counts.documents++
  for (const { extensions } of actual.errors) codes.add(String(extensions?.code))
  if (actual.errors.length > 0) counts.errors++
  if (actual.data === null) counts.nulled++
  else if (actual.errors.length === 0) counts.data++
  if (!isDeepStrictEqual(inFixedOrder(after), inFixedOrder(data))) counts.changed++
  return after
}

for (const seeded of seededStores) {
  test(`${seeded.name}: mutations have the same replies and rows as graphql-js that runs them in order`, async () => {
    const counts = {
      documents: 0,
      errors: 0,
      nulled: 0,
      data: 0,
      changed: 0,
      undecided: 0,
    }
    await fc.assert(
      fc.asyncProperty(
        modelsWithData,
        fc.array(principals, { minLength: 3, maxLength: 4 }),
        fc.nat(),
        async (generated, callers, seed) => {
          await withEngine(seeded, generated, async seededEngine => {
            let data = await allRows(seededEngine, generated.model)
            for (let i = 0; i < mutationsPerRun; i++) {
              const operation = randomMutation(seededEngine.engine.schema, seed + i * 7919, generated.model)
              assert.deepEqual(
                validate(seededEngine.engine.schema, parse(operation.source)),
                [],
                operation.source,
              )
              const { userId } = callers[i % callers.length] ?? { userId: 0 }
              const who = callers[i % callers.length]
              if (!who || (userId !== null && !data.users?.some(row => row.id === userId))) continue
              data = await compareMutation(seededEngine, { ...generated, data }, operation, who, counts)
            }
          })
        },
      ),
      cases(Math.ceil(30 * seeded.share), Math.ceil(12 * seeded.share)),
    )
    const actual = JSON.stringify(counts)
    // Each count is usually at least twice its limit, so that chance alone does not miss it.
    assert.ok(counts.data > counts.documents / 30, actual)
    assert.ok(counts.changed > counts.documents / 15, actual)
    assert.ok(counts.errors > counts.documents / 10, actual)
    assert.ok(counts.undecided < counts.documents / 20, actual)
    assert.ok(counts.nulled > counts.documents / 50, actual)
  })
}

test('every kind of refusal occurred', () => {
  for (const code of ['FORBIDDEN', 'VALIDATION_FAILED', 'NOT_FOUND', 'CONFLICT', 'UNAUTHORIZED'])
    assert.ok(codes.has(code), [...codes].join(' '))
})
