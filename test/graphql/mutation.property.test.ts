/** Whatever model, rows, caller and mutations: replies and rows are those of graphql-js over a naive resolver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import type { Model } from '../../src/model/model.ts'
import type { ListShape } from '../../src/plan/plan.ts'
import type { Principal } from '../../src/principal.ts'
import type { Change } from '../../src/store/store.ts'
import { dumpBy, dumpShape } from '../contract/rest/bench.ts'
import { type Inside, insides } from '../databases/inside.ts'
import { principals } from '../plan/random.ts'
import type { Data, Row } from '../plan/reference.ts'
import { type Bench, type Reply, reply, withEngine } from './bench.ts'
import { type NaiveError, type NaiveReply, naiveMutation } from './naive.ts'
import { type Asked, randomMutation } from './random-document.ts'
import { type World, worlds } from './random-model.ts'

const WORLDS = Number(process.env.WORLDS ?? 50)
const MUTATIONS = 20

/** Of all refusals, whatever the database. */
const codes = new Set<string>()

/** Asked for again and again, so that what a node remembers must be given up when another has written. */
const shapes = new WeakMap<Model, ReadonlyMap<string, ListShape>>()

function shapesOf(model: Model): ReadonlyMap<string, ListShape> {
  const known = shapes.get(model)
  if (known) return known
  const made = new Map([...model.collections.keys()].map(name => [name, dumpShape(model, name)]))
  shapes.set(model, made)
  return made
}

/** Every row, as Portico itself sees it. */
async function everything({ run }: Bench, model: Model): Promise<Data> {
  const rows = [...shapesOf(model)].map(async ([name, shape]) => {
    const text = await dumpBy(run, shape)
    return [name, JSON.parse(text.slice(text.indexOf(' ')))] as const
  })
  return Object.fromEntries(await Promise.all(rows))
}

/** Rows by their ids, each with its fields in one order. */
function sorted(data: Data): unknown {
  return Object.entries(data)
    .map(([name, rows]) => [name, rows.toSorted((a, b) => Number(a.id) - Number(b.id)).map(ordered)] as const)
    .filter(([, rows]) => rows.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

const ordered = (row: Row) => Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))

/** Of a refused write, where it failed and that the code is one of those that are right. */
function settled(told: Reply, expected: NaiveReply, question: string): Reply {
  const errors = told.errors.map((error, at) => {
    const { extensions } = expected.errors[at] ?? {}
    if (!extensions || !('codes' in extensions)) return error
    assert.ok(
      extensions.codes.includes(error.extensions?.code ?? ''),
      `${question}\n${JSON.stringify([error, extensions])}`,
    )
    const { locations, path } = error as NaiveError
    return { locations, path, extensions } as Reply['errors'][number]
  })
  return { errors, data: told.data }
}

interface Seen {
  documents: number
  errors: number
  nulled: number
  data: number
  changed: number
  undecided: number
}

type Ids = ReadonlyMap<string, readonly number[]>

async function lastIds(inside: Inside, model: Model): Promise<ReadonlyMap<string, number>> {
  const found = [...model.collections.keys()].map(async name => [name, await inside.lastId(name)] as const)
  return new Map(await Promise.all(found))
}

/** The ids that were given out, and the one that comes next, by collection. */
function ids(log: readonly Change[], before: ReadonlyMap<string, number>): Ids {
  const of = (name: string, last: number): readonly number[] => {
    const created = log.filter(({ kind, collection }) => kind === 'created' && collection === name)
    const given = created.map(({ id }) => id)
    return [...given, Math.max(last, ...given) + 1]
  }
  return new Map([...before].map(([name, last]) => [name, of(name, last)]))
}

/**
 * A sequence of PostgreSQL does not take back what a refused creation drew from it: which id that one had, by which a
 * rule may have refused it, nobody can tell afterwards.
 */
async function hasGaps(inside: Inside, before: ReadonlyMap<string, number>, made: Ids): Promise<boolean> {
  for (const [name, last] of before) {
    const given = (made.get(name)?.length ?? 1) - 1
    if ((await inside.lastId(name)) > last + given) return true
  }
  return false
}

/** The rows afterwards. */
async function compareMutation(
  bench: Bench,
  { model, data }: World,
  asked: Asked,
  who: Principal,
  seen: Seen,
): Promise<Data> {
  const { engine, inside } = bench
  const { store } = inside
  const before = await lastIds(inside, model)
  const since = await store.changes.last()
  const told = await reply(engine, asked, who)
  const made = ids(await store.changes.after(since, 10_000), before)
  const after = await everything(bench, model)
  const expected = naiveMutation({ model, data, schema: engine.schema, who }, asked, made)
  if (!expected) return after
  const question = `${asked.source}\n${JSON.stringify(asked.variables)}\n${who.userId} ${who.access.key}`
  try {
    assert.equal(
      JSON.stringify(settled(told, expected.reply, question)),
      JSON.stringify(expected.reply),
      question,
    )
    assert.deepEqual(sorted(after), sorted(expected.data), question)
  } catch (error) {
    if (!(await hasGaps(inside, before, made))) throw error
    seen.undecided++
    return after
  }
  seen.documents++
  for (const { extensions } of told.errors) codes.add(String(extensions?.code))
  if (told.errors.length > 0) seen.errors++
  if (told.data === null) seen.nulled++
  else if (told.errors.length === 0) seen.data++
  if (!isDeepStrictEqual(sorted(after), sorted(data))) seen.changed++
  return after
}

for (const inside of insides) {
  test(`${inside.name}: mutations are answered as graphql-js does it one after the other, and leave the same rows`, async () => {
    const seen = {
      documents: 0,
      errors: 0,
      nulled: 0,
      data: 0,
      changed: 0,
      undecided: 0,
    }
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.array(principals, { minLength: 3, maxLength: 4 }),
        fc.nat(),
        async (world, callers, seed) => {
          await withEngine(inside, world, async bench => {
            let data = await everything(bench, world.model)
            for (let i = 0; i < MUTATIONS; i++) {
              const asked = randomMutation(bench.engine.schema, seed + i * 7919, world.model)
              assert.deepEqual(validate(bench.engine.schema, parse(asked.source)), [], asked.source)
              const { userId } = callers[i % callers.length] ?? { userId: 0 }
              const who = callers[i % callers.length]
              if (!who || (userId !== null && !data.users?.some(row => row.id === userId))) continue
              data = await compareMutation(bench, { ...world, data }, asked, who, seen)
            }
          })
        },
      ),
      { numRuns: Math.ceil(WORLDS * inside.share) },
    )
    const told = JSON.stringify(seen)
    // What is usual is two and more times each of these: chance alone does not miss them.
    assert.ok(seen.data > seen.documents / 30, told)
    assert.ok(seen.changed > seen.documents / 15, told)
    assert.ok(seen.errors > seen.documents / 10, told)
    assert.ok(seen.undecided < seen.documents / 20, told)
    assert.ok(seen.nulled > seen.documents / 50, told)
  })
}

test('every kind of refusal has been met', () => {
  for (const code of ['FORBIDDEN', 'VALIDATION_FAILED', 'NOT_FOUND', 'CONFLICT', 'UNAUTHORIZED'])
    assert.ok(codes.has(code), [...codes].join(' '))
})
