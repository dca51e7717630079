/** Random changes of a model: both databases do the same, and the result equals a database created from the new model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  anyone,
  boolean,
  collection,
  index,
  integer,
  json,
  model,
  number,
  relation,
  string,
  text,
  unique,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { Model } from '../../../../src/model/model.ts'
import { cases } from '../../../cases.ts'
import {
  definitionsOf,
  type MigrationDatabase,
  migrationDatabases,
  postgres,
} from '../../../setups/databases/migrations.ts'
import { withPostgres } from '../../../setups/databases/postgres.ts'
import { Client, fields, listOfPosts } from '../blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

/** How each field of the collection may be declared. */
const titles = {
  plain: () => string(),
  searched: () => string({ searchable: true }),
  unique: () => string({ unique: true }),
  optional: () => string({ optional: true }),
  absent: undefined,
}
const counts = {
  integer: () => integer({ optional: true }),
  defaulted: () => integer({ default: 5 }),
  required: () => integer(),
  number: () => number({ optional: true }),
  absent: undefined,
}
const flags = {
  optional: () => boolean({ optional: true }),
  defaulted: () => boolean({ default: true }),
  absent: undefined,
}
const notes = {
  plain: () => text({ optional: true }),
  searched: () => text({ optional: true, searchable: true }),
  defaulted: () => text({ default: 'some words', searchable: true }),
  renamed: () => text({ optional: true, renamedFrom: 'note' }),
  absent: undefined,
}
const others = {
  self: undefined,
  clear: () => relation('others', { optional: true, onDelete: 'clear' }),
  cascade: () => relation('others', { optional: true, onDelete: 'cascade' }),
  restrict: () => relation('others', { optional: true }),
  absent: undefined,
}
const extras = {
  optional: () => json({ optional: true }),
  defaulted: () => json({ default: { a: [1] } }),
  absent: undefined,
}

const oneOf = <T extends object>(choices: T) => fc.constantFrom(...(Object.keys(choices) as (keyof T)[]))

const shapes = fc.record({
  title: oneOf(titles),
  count: oneOf(counts),
  flag: oneOf(flags),
  note: oneOf(notes),
  other: oneOf(others),
  extra: oneOf(extras),
  indexes: fc.uniqueArray(fc.constantFrom('title', 'count', 'flag', 'count title', 'flag count'), {
    maxLength: 3,
  }),
  isUnique: fc.boolean(),
  isRenamed: fc.boolean(),
})
type Shape = typeof shapes extends fc.Arbitrary<infer T> ? T : never

/** `isAfter`: the second model, in which names may have changed. */
function modelOf(shape: Shape, isAfter: boolean): Model {
  const name = isAfter && shape.isRenamed ? 'items' : 'things'
  const note = isAfter && shape.note === 'renamed' ? 'remark' : 'note'
  const noted = !isAfter && shape.note === 'renamed' ? notes.plain : notes[shape.note]
  const other = shape.other === 'self' ? relation(name, { optional: true }) : others[shape.other]?.()
  const declared = {
    title: titles[shape.title]?.(),
    count: counts[shape.count]?.(),
    flag: flags[shape.flag]?.(),
    [note]: noted?.(),
    other_id: other,
    extra: extras[shape.extra]?.(),
  }
  const present = Object.fromEntries(Object.entries(declared).filter(([, field]) => field !== undefined))
  const indexes = shape.indexes
    .map(columns => columns.split(' '))
    .filter(columns => columns.every(column => column in present))
    .filter(columns => !(columns.includes('title') && shape.title === 'unique'))
    .map((columns, n) => (n === 0 && shape.isUnique ? unique(...columns) : index(...columns)))
  return checkModel(
    model({
      others: collection({ access, fields: { name: string() } }),
      [name]: collection({
        access,
        fields: present as Parameters<typeof collection>[0]['fields'],
        indexes,
        ...(name === 'items' && { renamedFrom: 'things' }),
      }),
    }),
  )
}

const values = fc.record({
  title: fc.constantFrom('one', 'two', 'Straße', 'one two'),
  count: fc.constantFrom(0, 1, -7, 2 ** 40),
  flag: fc.boolean(),
  note: fc.option(fc.constantFrom('words', 'einige Wörter', '')),
  other_id: fc.option(fc.constantFrom(1, 2)),
  extra: fc.option(fc.constantFrom<JsonValue>({ b: 1, a: 2 }, [1, null], 'x')),
})
type Values = typeof values extends fc.Arbitrary<infer T> ? T : never

async function fill(
  database: MigrationDatabase,
  location: string,
  model: Model,
  rows: readonly Values[],
): Promise<void> {
  const store = await database.open(location, model)
  const client = new Client(store, model)
  for (const name of ['first', 'second']) await client.create('others', { name })
  const declared = model.collections.get('things')?.fields
  for (const row of rows) {
    const present = Object.entries(row).filter(([name, value]) => {
      const field = declared?.get(name)
      return field && (value !== null || field.optional)
    })
    // Both databases refuse some, e.g. for a unique index. On PostgreSQL, those consume ids.
    await client.create('things', Object.fromEntries(present)).catch(() => {})
  }
  await client.remove('things', 1).catch(() => {})
  await store.close()
}

/** Everything that the store returns of the collection, including search results. */
async function contents(database: MigrationDatabase, location: string, model: Model): Promise<unknown> {
  const store = await database.open(location, model, false)
  try {
    const client = new Client(store, model)
    const things = model.collections.get('items') ?? model.collections.get('things')
    const names = [...(things?.fields.keys() ?? [])].filter(name => name !== 'created_at' && name !== 'id')
    const shape = { ...listOfPosts, collection: things?.name ?? '', select: fields(...names) }
    const searchResults = (things?.searchable.length ?? 0) > 0
    const searched = searchResults
      ? await Promise.all(
          ['one', 'words', 'STRASSE'].map(word => client.list({ ...shape, search: 2 }, [0, 99, word])),
        )
      : []
    const next = await client.create('others', { name: 'next' })
    return [await client.list(shape, [0, 99]), searched, next.id]
  } finally {
    await store.close()
  }
}

/** An index on PostgreSQL contains the position of nulls, so it is rebuilt when a field becomes optional or required. */
const remade = /(?:^| )Rebuild the index of [^.]+\./g

/** A sentence without the rebuilt indexes of PostgreSQL, which are added and dropped if the collection is renamed too. */
function withoutRemade(sentence: string): string {
  const dropped = [...sentence.matchAll(/ Drop( the index of [^.]+\.)/g)].map(([, index]) => index ?? '')
  return dropped
    .filter(index => sentence.includes(` Add${index}`))
    .reduce((rest, index) => rest.replace(` Add${index}`, '').replace(` Drop${index}`, ''), sentence)
    .replaceAll(remade, '')
}

async function migrateAndRead(
  database: MigrationDatabase,
  from: Model,
  to: Model,
  rows: readonly Values[],
): Promise<unknown> {
  let outcome: unknown
  await database.withEmpty(async location => {
    await fill(database, location, from, rows)
    const before = await database.dump(location)
    const steps = await database.plan(location, to)
    const sentences = steps
      .map(({ sentence, destructive, additive }) => [withoutRemade(sentence), destructive, additive])
      .filter(([sentence]) => sentence !== '')
    try {
      await database.apply(location, to, { allowDestructive: true })
    } catch (error) {
      assert.match(String(error), /Nothing was changed/)
      assert.equal(await database.dump(location), before)
      outcome = [sentences, 'refused']
      return
    }
    await database.assertConsistent(location)
    assert.deepEqual(await database.plan(location, to), [])
    if (database === postgres) await requireShape(location, to)
    outcome = [sentences, await contents(database, location, to)]
  })
  return outcome
}

/** Requires the tables that the model would create, except for defaults that are no longer needed. */
async function requireShape(location: string, to: Model): Promise<void> {
  await withPostgres(async fresh => {
    await (await postgres.open(fresh, to)).close()
    const shape = async (url: string) =>
      (await definitionsOf(url)).map(line => line.replace(/ DEFAULT .*/, '')).sort()
    assert.deepEqual(await shape(location), await shape(fresh))
  })
}

test('the generated models are valid', () => {
  fc.assert(
    fc.property(shapes, fc.boolean(), (shape, isAfter) => void modelOf(shape, isAfter)),
    cases(200, 200),
  )
})

/** Each pair of choices for a part of the model: before and after. */
function changesOf<T>(choices: readonly T[]): readonly (readonly [T, T])[] {
  return choices.flatMap(before => choices.map(after => [before, after] as const))
}

const keysOf = <T extends object>(choices: T) => Object.keys(choices) as (keyof T)[]
const indexes: readonly Shape['indexes'][] = [[], ['title'], ['count title', 'flag'], ['flag count', 'title']]

/**
 * Pairs of models in which each part changes in every possible way at least once. Parts with fewer choices repeat, with
 * different steps, so that they combine with different changes of other parts.
 */
function* everyChange(): Generator<readonly [before: Shape, after: Shape]> {
  const parts = {
    title: changesOf(keysOf(titles)),
    count: changesOf(keysOf(counts)),
    flag: changesOf(keysOf(flags)),
    note: changesOf(keysOf(notes)),
    other: changesOf(keysOf(others)),
    extra: changesOf(keysOf(extras)),
    indexes: changesOf(indexes),
  }
  const most = Math.max(...Object.values(parts).map(changes => changes.length))
  const pick = <T>(changes: readonly (readonly [T, T])[], round: number, step: number) =>
    changes[(round * step) % changes.length] ?? assert.fail()
  for (let round = 0; round < most; round++) {
    const [title, count, flag] = [
      pick(parts.title, round, 1),
      pick(parts.count, round, 7),
      pick(parts.flag, round, 1),
    ]
    const [note, other, extra] = [
      pick(parts.note, round, 3),
      pick(parts.other, round, 9),
      pick(parts.extra, round, 5),
    ]
    const index = pick(parts.indexes, round, 5)
    const definitionsOf = (side: 0 | 1): Shape => ({
      title: title[side],
      count: count[side],
      flag: flag[side],
      note: note[side],
      other: other[side],
      extra: extra[side],
      indexes: index[side],
      isUnique: round % 3 === side,
      isRenamed: round % 4 === 3,
    })
    yield [definitionsOf(0), definitionsOf(1)]
  }
}

/** Rows with values for all fields and without duplicates. */
const someRows: readonly Values[] = [
  { title: 'one', count: 0, flag: true, note: 'words', other_id: 1, extra: { b: 1, a: 2 } },
  { title: 'two', count: -7, flag: false, note: '', other_id: 2, extra: [1, null] },
  { title: 'Straße', count: 2 ** 40, flag: true, note: 'einige Wörter', other_id: null, extra: null },
]

async function sameOutcome(before: Shape, after: Shape, rows: readonly Values[]): Promise<boolean> {
  const [from, to] = [modelOf(before, false), modelOf(after, true)]
  const outcomes: unknown[] = []
  for (const database of migrationDatabases) outcomes.push(await migrateAndRead(database, from, to, rows))
  assert.deepEqual(outcomes[1], outcomes[0])
  return !JSON.stringify(outcomes[0]).endsWith('"refused"]')
}

test('both databases have the same outcome for every change of each part of a model', async () => {
  const outcomes = new Map<boolean, number>()
  for (const [before, after] of everyChange()) {
    const isDone = await sameOutcome(before, after, someRows)
    outcomes.set(isDone, (outcomes.get(isDone) ?? 0) + 1)
  }
  assert.ok(
    (outcomes.get(true) ?? 0) >= 10 && (outcomes.get(false) ?? 0) >= 1,
    'most changes succeed, and some are refused',
  )
})

test('both databases have the same outcome for random changes of a model', async () => {
  await fc.assert(
    fc.asyncProperty(shapes, shapes, fc.array(values, { maxLength: 5 }), async (before, after, rows) => {
      await sameOutcome(before, after, rows)
    }),
    { ...cases(4, 4), endOnFailure: true },
  )
})
