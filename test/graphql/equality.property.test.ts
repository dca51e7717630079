/** Whatever model, rows, caller and document: the reply is what graphql-js gives over a naive resolver. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import { createEngine } from '../../src/graphql/create-engine.ts'
import type { Engine } from '../../src/graphql/engine.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import type { Model } from '../../src/model/model.ts'
import { createGuard } from '../../src/plan/guard.ts'
import type { Run } from '../../src/plan/run.ts'
import type { Principal } from '../../src/principal.ts'
import { createRun } from '../../src/serve/store.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { dumpCollection } from '../contract/rest/bench.ts'
import { principals } from '../plan/random.ts'
import { type Data, type Row, TIME } from '../plan/reference.ts'
import { type NaiveError, type NaiveReply, naiveMutation, naiveReply } from './naive.ts'
import { type Asked, randomDocument, randomMutation } from './random-document.ts'
import { type World, worlds } from './random-model.ts'

const WORLDS = Number(process.env.WORLDS ?? 50)
const DOCUMENTS = 12
const MUTATIONS = 20

const limits = { aliases: 10_000, depth: 100, cost: 1e9, tokens: 50_000 }
const context = {
  rateLimit: undefined,
  onFault(error: unknown) {
    throw error
  },
}

function stored(value: JsonValue): SQLInputValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

function fill(file: string, data: Data): void {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  database.exec('PRAGMA synchronous = OFF; BEGIN')
  for (const [name, rows] of Object.entries(data)) for (const row of rows) insert(database, name, row)
  database.exec('COMMIT')
  database.close()
}

function insert(database: DatabaseSync, name: string, row: Row): void {
  const columns = Object.keys(row)
  const quoted = columns.map(column => `"${column}"`).join()
  const marks = columns.map(() => '?').join()
  const values = columns.map(column =>
    column === 'extra' && row[column] !== null ? JSON.stringify(row[column]) : stored(row[column] ?? null),
  )
  database.prepare(`INSERT INTO "${name}" (${quoted}) VALUES (${marks})`).run(...values)
}

interface Bench {
  readonly engine: Engine
  readonly run: Run
  readonly store: Store
}

async function withEngine({ model, data }: World, use: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-graphql-'))
  const file = join(folder, 'data.db')
  const store = openSqlite(model, { file, now: () => Date.parse(TIME) })
  try {
    fill(file, data)
    const run = createRun(createGuard(model), store)
    await use({ engine: createEngine({ model, run, hooks: new Map(), limits }), run, store })
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function reply(engine: Engine, { source, variables }: Asked, who: Principal): Promise<Reply> {
  const prepared = engine.prepare(source, undefined)
  assert.equal(prepared.outcome, 'prepared', `${source}\n${'text' in prepared ? prepared.text : ''}`)
  if (prepared.outcome !== 'prepared') throw new Error('not prepared')
  const bound = engine.bind(prepared, variables)
  assert.equal(bound.outcome, 'bound', `${source}\n${'text' in bound ? bound.text : ''}`)
  if (bound.outcome !== 'bound') throw new Error('not bound')
  const { text } = await engine.execute(bound, who, context)
  const { errors = [], data } = JSON.parse(text)
  return { errors, data }
}

interface Reply {
  readonly errors: readonly { readonly path?: unknown; readonly extensions?: { readonly code?: string } }[]
  readonly data: unknown
}

interface Seen {
  documents: number
  errors: number
  nulled: number
  data: number
}

async function compare(engine: Engine, world: World, asked: Asked, who: Principal, seen: Seen) {
  const naive = naiveReply({ ...world, schema: engine.schema, who }, asked)
  const expected = JSON.stringify(naive)
  const question = `${asked.source}\n${JSON.stringify(asked.variables)}\n${who.access.key}`
  assert.equal(JSON.stringify(await reply(engine, asked, who)), expected, question)
  // Asked again, the answer comes from what is remembered.
  assert.equal(JSON.stringify(await reply(engine, asked, who)), expected, question)
  seen.documents++
  if (naive.errors.length > 0) seen.errors++
  if (naive.data === null) seen.nulled++
  else if (naive.errors.length === 0) seen.data++
}

test('the reply is the one that graphql-js gives over a naive resolver', async () => {
  const seen = { documents: 0, errors: 0, nulled: 0, data: 0 }
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.array(principals, { minLength: 2, maxLength: 3 }),
      fc.nat(),
      async (world, callers, seed) => {
        await withEngine(world, async ({ engine }) => {
          for (let i = 0; i < DOCUMENTS; i++) {
            const { source, sets } = randomDocument(engine.schema, seed + i * 7919)
            assert.deepEqual(validate(engine.schema, parse(source)), [])
            for (const variables of sets) {
              for (const who of callers) await compare(engine, world, { source, variables }, who, seen)
            }
          }
        })
      },
    ),
    { numRuns: WORLDS },
  )
  // The generator must reach every kind of reply, or equality says little.
  assert.ok(seen.data > seen.documents / 10, JSON.stringify(seen))
  assert.ok(seen.errors > seen.documents / 10, JSON.stringify(seen))
  assert.ok(seen.nulled > seen.documents / 50, JSON.stringify(seen))
})

/** Every row, as Portico itself sees it. */
async function everything({ run }: Bench, model: Model): Promise<Data> {
  const rows = async (name: string) => {
    const text = await dumpCollection(model, run, name)
    return [name, JSON.parse(text.slice(text.indexOf(' ')))] as const
  }
  return Object.fromEntries(await Promise.all([...model.collections.keys()].map(rows)))
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

interface SeenWrites extends Seen {
  readonly codes: Set<string>
  changed: number
}

/** The ids that were given out after an event, and the one that comes next, by collection. */
function ids({ model, data }: World, log: readonly Change[], since: number) {
  const created = log.filter(({ kind }) => kind === 'created')
  const of = (name: string): readonly number[] => {
    const all = created.filter(({ collection }) => collection === name)
    const given = [...(data[name] ?? []).map(row => Number(row.id)), ...all.map(({ id }) => id)]
    return [...all.filter(({ event }) => event > since).map(({ id }) => id), Math.max(0, ...given) + 1]
  }
  return new Map([...model.collections.keys()].map(name => [name, of(name)]))
}

/** The rows afterwards. */
async function compareMutation(
  bench: Bench,
  /** Before the first mutation. */
  start: World,
  data: Data,
  asked: Asked,
  who: Principal,
  seen: SeenWrites,
): Promise<Data> {
  const { engine, store } = bench
  const { model } = start
  const since = await store.changes.last()
  const told = await reply(engine, asked, who)
  const made = ids(start, await store.changes.after(0, 10_000), since)
  const after = await everything(bench, model)
  const expected = naiveMutation({ model, data, schema: engine.schema, who }, asked, made)
  if (!expected) return after
  const question = `${asked.source}\n${JSON.stringify(asked.variables)}\n${who.userId} ${who.access.key}`
  assert.equal(
    JSON.stringify(settled(told, expected.reply, question)),
    JSON.stringify(expected.reply),
    question,
  )
  assert.deepEqual(sorted(after), sorted(expected.data), question)
  seen.documents++
  for (const { extensions } of told.errors) seen.codes.add(String(extensions?.code))
  if (told.errors.length > 0) seen.errors++
  if (told.data === null) seen.nulled++
  else if (told.errors.length === 0) seen.data++
  if (!isDeepStrictEqual(sorted(after), sorted(data))) seen.changed++
  return after
}

test('mutations are answered as graphql-js does it one after the other, and leave the same rows', async () => {
  const seen = { documents: 0, errors: 0, nulled: 0, data: 0, changed: 0, codes: new Set<string>() }
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.array(principals, { minLength: 3, maxLength: 4 }),
      fc.nat(),
      async (world, callers, seed) => {
        await withEngine(world, async bench => {
          let data = await everything(bench, world.model)
          for (let i = 0; i < MUTATIONS; i++) {
            const asked = randomMutation(bench.engine.schema, seed + i * 7919)
            assert.deepEqual(validate(bench.engine.schema, parse(asked.source)), [], asked.source)
            const { userId } = callers[i % callers.length] ?? { userId: 0 }
            const who = callers[i % callers.length]
            if (!who || (userId !== null && !data.users?.some(row => row.id === userId))) continue
            data = await compareMutation(bench, world, data, asked, who, seen)
          }
        })
      },
    ),
    { numRuns: WORLDS },
  )
  const told = JSON.stringify({ ...seen, codes: [...seen.codes] })
  assert.ok(seen.data > seen.documents / 10, told)
  assert.ok(seen.changed > seen.documents / 5, told)
  assert.ok(seen.errors > seen.documents / 10, told)
  assert.ok(seen.nulled > seen.documents / 50, told)
  for (const code of ['FORBIDDEN', 'VALIDATION_FAILED', 'NOT_FOUND', 'CONFLICT', 'UNAUTHORIZED'])
    assert.ok(seen.codes.has(code), told)
})
