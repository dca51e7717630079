/** Data that a new model does not allow is reported before anything is changed: field, count, example and remedy. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  boolean,
  choice,
  collection,
  type Declaration,
  date,
  datetime,
  email,
  type FieldDeclaration,
  field,
  integer,
  json,
  model,
  noOverlap,
  number,
  relation,
  string,
  text,
  unique,
  url,
  uuid,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { LimitDeclaration } from '../../../../src/model/logic/logic.ts'
import type { Model } from '../../../../src/model/model.ts'
import { type MigrationDatabase, migrationDatabases } from '../../../setups/databases/migrations.ts'
import { Client } from '../blog.ts'
import { access } from './migration-cases.ts'

interface MigrationCase {
  readonly name: string
  readonly from: FieldDeclaration | undefined
  /** The values of items 1, 2 and so on. */
  readonly values: readonly JsonValue[]
  readonly to: FieldDeclaration
  /** The number of items that do not fit, and the id of the first. */
  readonly misfits: readonly [count: number, example: number]
  readonly message: RegExp
  /** Values that fit. */
  readonly mended: readonly JsonValue[]
}

const optional = { optional: true } as const
interface Conversion {
  readonly name: string
  readonly from: Readonly<Record<string, FieldDeclaration>>
  readonly to: Readonly<Record<string, FieldDeclaration>>
  readonly limit?: LimitDeclaration
  /** Only the migrated values show it. */
  readonly isLate?: true
  readonly values: readonly Readonly<Record<string, JsonValue>>[]
}

/** Conversions that make intervals overlap, or end too early. */
const conversions: readonly Conversion[] = [
  {
    name: 'a start gets a default',
    from: {},
    to: { a: integer({ default: 0 }) },
    values: [
      { a: null, b: -5 },
      { a: -3, b: 4 },
    ],
  },
  {
    name: 'the field of its groups gets a default',
    from: {},
    to: { c: integer({ default: 1 }) },
    values: [
      { c: null, a: 1, b: 4 },
      { c: null, a: 2, b: 5 },
    ],
  },
  {
    name: 'the field of its condition gets a default',
    from: { on: choice(['yes', 'no'], optional) },
    to: { on: choice(['yes', 'no'], { default: 'yes' }) },
    limit: noOverlap('a', 'b', { per: 'c', where: field('on').eq('yes') }),
    values: [
      { on: null, a: 1, b: 4 },
      { on: 'yes', a: 2, b: 5 },
    ],
  },
  {
    name: 'the field of its groups gets another type and a default',
    from: { c: string(optional) },
    isLate: true,
    to: { c: integer({ default: 1 }) },
    values: [
      { c: '1', a: 1, b: 4 },
      { c: null, a: 2, b: 5 },
    ],
  },
]

const many = /(\d+) items?.* e\.g\. items? (\d+)/

const cases: readonly MigrationCase[] = [
  {
    name: 'an option of a choice is removed while in use',
    from: choice(['a', 'b', 'c']),
    values: ['a', 'c', 'b', 'c'],
    to: choice(['a', 'b']),
    misfits: [2, 2],
    message: /which must be a or b\. Change or delete them/,
    mended: ['a', 'b', 'b', 'a'],
  },
  {
    name: 'a text becomes a choice',
    from: text(optional),
    values: ['a', null, 'x'],
    to: choice(['a', 'b'], optional),
    misfits: [1, 3],
    message: /which must be a or b/,
    mended: ['a', null, 'b'],
  },
  {
    name: 'an optional field becomes required',
    from: text(optional),
    values: ['a', null, null],
    to: text(),
    misfits: [2, 2],
    message: /2 items without a value.*Give them one, or give the field a default/,
    mended: ['a', 'b', 'c'],
  },
  {
    name: 'the maximal length of a text decreases',
    from: string({ max: 20 }),
    values: ['short', 'this is too long', 'so is this one'],
    to: string({ max: 10 }),
    misfits: [2, 2],
    message: /at most 10 characters/,
    mended: ['short', 'x', 'y'],
  },
  {
    name: 'the bounds of a number narrow',
    from: integer(),
    values: [1, 5, 10],
    to: integer({ min: 2, max: 9 }),
    misfits: [2, 1],
    message: /2/,
    mended: [2, 5, 9],
  },
  {
    name: 'a text gets a pattern',
    from: string(),
    values: ['ab', '12', 'cd'],
    to: string({ pattern: '^[a-z]+$' }),
    misfits: [1, 2],
    message: /item 2/,
    mended: ['ab', 'x', 'cd'],
  },
  {
    name: 'a text becomes a single line',
    from: text(),
    values: ['one', 'one\ntwo'],
    to: string(),
    misfits: [1, 2],
    message: /item 2/,
    mended: ['one', 'two'],
  },
  {
    name: 'a text becomes a date',
    from: text(optional),
    values: ['2026-01-31', '2026-02-31', 'tomorrow', null],
    to: date(optional),
    misfits: [2, 2],
    message: /date/,
    mended: ['2026-01-31', '2026-02-28', '2026-03-01', null],
  },
  {
    name: 'a text becomes a time',
    from: text(),
    values: ['2026-01-31T12:00:00.000Z', '2026-01-31T12:00:00+01:00'],
    to: datetime(),
    misfits: [1, 2],
    message: /be written as "2026-01-31T11:00:00\.000Z"/,
    mended: ['2026-01-31T12:00:00.000Z', '2026-01-31T11:00:00.000Z'],
  },
  {
    name: 'a text becomes an email address',
    from: string(),
    values: ['a@b.example', 'nobody'],
    to: email(),
    misfits: [1, 2],
    message: /e-mail address/,
    mended: ['a@b.example', 'c@d.example'],
  },
  {
    name: 'a text becomes a URL',
    from: string(),
    values: ['https://a.example/', 'javascript:alert(1)'],
    to: url(),
    misfits: [1, 2],
    message: /URL|http/,
    mended: ['https://a.example/', 'http://b.example/'],
  },
  {
    name: 'a text becomes a UUID',
    from: string(),
    values: ['0B1C9C1E-6F5D-4C39-9A53-2F6F3B8E4D10', '0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d10'],
    to: uuid(),
    misfits: [1, 1],
    message: /be written as "0b1c9c1e/,
    mended: ['0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d11', '0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d10'],
  },
  {
    name: 'a text becomes an integer',
    from: text(),
    values: ['1', 'two', '3.5', '99999999999999999999'],
    to: integer(),
    misfits: [3, 2],
    message: /which must be convertible to integer\./,
    mended: ['1', '2', '3', '4'],
  },
  {
    name: 'a text becomes a number with bounds',
    from: text(),
    values: ['1', '20'],
    to: number({ max: 10 }),
    misfits: [1, 2],
    message: /item 2/,
    mended: ['1', '2.5'],
  },
  {
    name: 'an integer becomes a boolean',
    from: integer(),
    values: [0, 1, 2],
    to: boolean(),
    misfits: [1, 3],
    message: /which must be convertible to boolean\./,
    mended: [0, 1, 1],
  },
  {
    name: 'a text becomes JSON',
    from: text(),
    values: ['{"a":1}', 'words', '12'],
    to: json({ schema: { type: 'object' } }),
    misfits: [2, 2],
    message: /which must be convertible to json\./,
    mended: ['{"a":1}', '{}', '{"b":2}'],
  },
  {
    name: 'JSON gets another schema',
    from: json(optional),
    values: [{ a: 1 }, [1], null],
    to: json({ ...optional, schema: { type: 'object' } }),
    misfits: [1, 2],
    message: /object/,
    mended: [{ a: 1 }, {}, null],
  },
  {
    name: 'a field becomes unique',
    from: string(optional),
    values: ['a', 'b', 'a', null, null],
    to: string({ ...optional, unique: true }),
    misfits: [2, 1],
    message: /unique.*items 1 and 3.*all but one/,
    mended: ['a', 'b', 'c', null, null],
  },
  {
    name: 'an integer becomes a reference',
    from: integer(optional),
    values: [1, 7, null],
    to: relation('others', optional),
    misfits: [1, 2],
    message: /refer to items of others that do not exist/,
    mended: [1, 2, null],
  },
  {
    name: 'a reference changes its collection',
    from: relation('others'),
    values: [1, 2],
    to: relation('places'),
    misfits: [1, 2],
    message: /refer to items of places that do not exist/,
    mended: [1, 1],
  },
  {
    name: 'a text becomes a reference',
    from: text(),
    values: ['1', '7'],
    to: relation('others'),
    misfits: [1, 2],
    message: /refer to items of others that do not exist/,
    mended: ['1', '2'],
  },
]

function modelOf(field: FieldDeclaration | undefined): Model {
  return checkModel(
    model({
      others: collection({ access, fields: { name: string() } }),
      places: collection({ access, fields: { name: string() } }),
      things: collection({ access, fields: { note: text(optional), ...(field && { value_id: field }) } }),
    }),
  )
}

async function fill(
  database: MigrationDatabase,
  location: string,
  { from, values }: MigrationCase,
): Promise<void> {
  const model = modelOf(from)
  const store = await database.open(location, model)
  const client = new Client(store, model)
  for (const name of ['first', 'second']) await client.create('others', { name })
  await client.create('places', { name: 'first' })
  for (const value of values) await client.create('things', { value_id: value })
  await store.close()
}

async function mend(
  database: MigrationDatabase,
  location: string,
  { from, mended }: MigrationCase,
): Promise<void> {
  const model = modelOf(from)
  const store = await database.open(location, model, false)
  const client = new Client(store, model)
  for (const [n, value] of mended.entries()) await client.update('things', n + 1, { value_id: value })
  await store.close()
}

async function assertRefused(
  database: MigrationDatabase,
  location: string,
  testCase: MigrationCase,
): Promise<void> {
  await fill(database, location, testCase)
  const to = modelOf(testCase.to)
  const before = await database.dump(location)
  const steps = await database.plan(location, to)
  const [fault = ''] = steps.flatMap(step => step.faults ?? [])
  assert.match(fault, /^things\.value_id: /)
  const [, count, example] = many.exec(fault) ?? []
  assert.deepEqual([Number(count), Number(example)], testCase.misfits, fault)
  assert.match(fault, testCase.message)
  const isRefusal = (error: Error) => {
    assert.equal(error.name, 'MigrationError')
    assert.ok(error.message.includes(fault), error.message)
    assert.match(error.message, /Nothing was changed/)
    return true
  }
  await assert.rejects(database.apply(location, to, { allowDestructive: true }), isRefusal)
  if (steps.every(step => step.additive)) await assert.rejects(database.open(location, to), isRefusal)
  assert.equal(await database.dump(location), before)
  await mend(database, location, testCase)
  assert.deepEqual(
    (await database.plan(location, to)).flatMap(step => step.faults ?? []),
    [],
  )
  await database.apply(location, to, { allowDestructive: true })
  assert.deepEqual(await database.plan(location, to), [])
  await database.assertConsistent(location)
  const store = await database.open(location, to, false)
  for (const n of testCase.mended.keys()) await new Client(store, to).item('things', n + 1)
  await store.close()
}

const off = { on: false }

/** An hour of a day. */
function at(hour: number | null): string | null {
  return hour === null ? null : `2026-05-01T${String(hour).padStart(2, '0')}:00:00.000Z`
}

/** `isRenamed`: the fields of the interval have their later names. */
function rooms(limits: readonly LimitDeclaration[], isRenamed = false): Model {
  const time = (renamedFrom: string) => datetime({ ...optional, ...(isRenamed && { renamedFrom }) })
  const interval = isRenamed ? { starts: time('from'), ends: time('to') } : { from: time(''), to: time('') }
  const fields = { ...interval, room: string(optional), on: boolean() }
  return checkModel(model({ bookings: collection({ access, fields, limits }) } as never) as Declaration)
}

for (const database of migrationDatabases) {
  describe(database.name, () => {
    for (const testCase of cases) {
      test(`${testCase.name}: values that do not fit are reported, and nothing is changed`, () =>
        database.withEmpty(location => assertRefused(database, location, testCase)))
    }

    test('a reference with a default can be added only if the referenced item exists', () =>
      database.withEmpty(async location => {
        await fill(database, location, {
          ...cases[0],
          from: undefined,
          values: [],
        } as unknown as MigrationCase)
        const store = await database.open(location, modelOf(undefined), false)
        await new Client(store, modelOf(undefined)).create('things', { note: 'x' })
        await store.close()
        const to = modelOf(relation('others', { default: 7 }))
        await assert.rejects(
          database.open(location, to),
          /things\.value_id: 1 item would refer to items of others/,
        )
        await (await database.open(location, modelOf(relation('others', { default: 2 })))).close()
      }))

    test('a new unique index over several fields names the first two items with equal values', () =>
      database.withEmpty(async location => {
        const pairs = (indexes: readonly ReturnType<typeof unique>[]) =>
          checkModel(
            model({
              things: collection({
                access,
                fields: { a: integer(), b: string(optional), c: integer({ default: 1 }) },
                indexes,
              }),
            }),
          )
        const before = pairs([])
        const store = await database.open(location, before)
        const client = new Client(store, before)
        for (const [a, b] of [
          [1, 'x'],
          [1, null],
          [1, null],
          [2, 'x'],
          [1, 'x'],
        ] as const)
          await client.create('things', { a, b })
        await store.close()
        const [step] = await database.plan(location, pairs([unique('a', 'b')]))
        assert.match(step?.faults?.[0] ?? '', /^things\.a, b: 2 items .*, e\.g\. items 1 and 5\./)
      }))

    test('a new noOverlap names items that overlap or end too early, and is kept once none does', () =>
      database.withEmpty(async location => {
        const before = rooms([])
        const store = await database.open(location, before)
        const client = new Client(store, before)
        const hours = [
          // Disjoint: the last one ends when the first one starts.
          ...[[9, 10] as const, [null, 7] as const, [10, 12] as const, [12, null] as const, [8, 9] as const],
          // Overlap with the first and the fourth, but are in other rooms, or cancelled.
          ...[[9, 11, { room: 'B' }] as const, [13, 14, { room: null }] as const, [13, 14, off] as const],
          [15, 14, off] as const,
        ]
        for (const [from, to, values] of hours)
          await client.create('bookings', { from: at(from), to: at(to), room: 'A', on: true, ...values })
        const limit = noOverlap('starts', 'ends', { per: 'room', where: field('on').eq(true) })
        const to = rooms([limit], true)
        const faults = async () => (await database.plan(location, to)).flatMap(step => step.faults ?? [])
        assert.deepEqual(await faults(), [])
        const text = "noOverlap\\('starts', 'ends', { per: 'room', where: field\\('on'\\)\\.eq\\(true\\) }\\)"
        await client.update('bookings', 9, { on: true })
        assert.match(
          (await faults()).join(),
          new RegExp(`1 item .* after its start, e\\.g\\. item 9, against ${text}`),
        )
        await client.update('bookings', 9, { to: at(16) })
        await client.update('bookings', 8, { on: true })
        await store.close()
        const isOverlap = new RegExp(
          `bookings: at least 1 item .* next one, e\\.g\\. items 4 and 8, against ${text}`,
        )
        assert.match((await faults()).join(), isOverlap)
        await assert.rejects(database.apply(location, to, { allowDestructive: true }), isOverlap)
        await assert.rejects(database.open(location, to), /Require noOverlap.*portico migrate/s)
        const mending = await database.open(location, before, false)
        for (const id of [8, 9]) await new Client(mending, before).update('bookings', id, { on: false })
        await mending.close()
        assert.deepEqual(await faults(), [])
        await database.apply(location, to, { allowDestructive: false })
        assert.deepEqual(await database.plan(location, to), [])
        const limited = await database.open(location, to, false)
        const values = { starts: at(9), ends: at(11), room: 'A', on: true }
        await assert.rejects(new Client(limited, to).create('bookings', values), /can overlap/)
        await limited.close()
        // A start needs no step to keep it no longer; to keep it again, the data is checked again.
        const free = rooms([], true)
        const dropped = await database.plan(location, free)
        assert.match(dropped.map(({ sentence }) => sentence).join(), /No longer require noOverlap\('starts'/)
        await (await database.open(location, free, false)).close()
        const released = await database.open(location, free)
        await new Client(released, free).create('bookings', values)
        await released.close()
        assert.match((await faults()).join(), /at least 2 items .* next one, e\.g\. items 1 and \d+,/)
      }))

    test('an item that did not count when a noOverlap came may stay as it is', () =>
      database.withEmpty(async location => {
        const before = rooms([], true)
        const store = await database.open(location, before)
        const reversed = { starts: at(15), ends: at(14), room: 'A', on: false }
        await new Client(store, before).create('bookings', reversed)
        await store.close()
        const to = rooms([noOverlap('starts', 'ends', { per: 'room', where: field('on').eq(true) })], true)
        await database.apply(location, to, { allowDestructive: false })
        const limited = await database.open(location, to, false)
        const client = new Client(limited, to)
        await client.update('bookings', 1, { room: 'B' })
        for (const values of [{ on: true }, { ends: at(13) }, { starts: at(14) }])
          await assert.rejects(client.update('bookings', 1, values), { code: 'VALIDATION_FAILED' })
        await client.update('bookings', 1, { ends: at(16), on: true })
        await limited.close()
      }))

    test('a start of a model without a noOverlap has its data checked again', () =>
      database.withEmpty(async location => {
        const limited = rooms([noOverlap('starts', 'ends', { per: 'room' })], true)
        const values = { starts: at(9), ends: at(11), room: 'A', on: true }
        const store = await database.open(location, limited)
        await new Client(store, limited).create('bookings', values)
        await store.close()
        const older = rooms([], true)
        const rolledBack = await database.open(location, older, false)
        await new Client(rolledBack, older).create('bookings', values)
        await rolledBack.close()
        await assert.rejects(database.open(location, limited, false), /Require noOverlap.*portico migrate/s)
        const [step] = await database.plan(location, limited)
        assert.match(step?.faults?.join() ?? '', /e\.g\. items 1 and 2, against noOverlap/)
        const mending = await database.open(location, older, false)
        await new Client(mending, older).update('bookings', 2, { starts: at(11), ends: at(12) })
        await mending.close()
        await database.apply(location, limited, { allowDestructive: false })
        await (await database.open(location, limited, false)).close()
      }))

    for (const { name, from, to, values, isLate, limit = noOverlap('a', 'b', { per: 'c' }) } of conversions)
      test(`a noOverlap that is kept is checked again if ${name}`, () =>
        database.withEmpty(async location => {
          const fields = { a: integer(optional), b: integer(optional), c: integer(optional) }
          const modelWith = (declared: Conversion['from']) => {
            const things = { access, fields: { ...fields, ...declared }, limits: [limit] }
            return checkModel(model({ things: collection(things) } as never) as Declaration)
          }
          const before = modelWith(from)
          const store = await database.open(location, before)
          const client = new Client(store, before)
          for (const item of values) await client.create('things', { c: 1, ...item })
          await store.close()
          const [step] = await database.plan(location, modelWith(to))
          if (!isLate) assert.match(step?.faults?.join() ?? '', /e\.g\. items? [12]\b.*, against noOverlap/)
          await assert.rejects(
            database.apply(location, modelWith(to), { allowDestructive: true }),
            /against noOverlap/,
          )
        }))

    test('a noOverlap of a new field that is empty applies itself', () =>
      database.withEmpty(async location => {
        const before = rooms([])
        const store = await database.open(location, before)
        await new Client(store, before).create('bookings', { on: true })
        await store.close()
        const fields = { on: boolean(), desk: integer(optional), day: date(optional), until: date(optional) }
        const limits = [noOverlap('day', 'until', { per: 'desk' })]
        const to = checkModel(model({ bookings: collection({ access, fields, limits }) }))
        await database.apply(location, to, { allowDestructive: true })
        assert.deepEqual(await database.plan(location, to), [])
      }))

    test('a start is not refused for bounds that widen or that every item satisfies', () =>
      database.withEmpty(async location => {
        const testCase = {
          ...cases[0],
          from: string({ max: 20 }),
          values: ['short'],
        } as unknown as MigrationCase
        await fill(database, location, testCase)
        for (const max of [30, 10, 5]) {
          const to = modelOf(string({ max }))
          // Also without autoMigrate, as in production.
          await (await database.open(location, to, false)).close()
          const steps = await database.plan(location, to)
          assert.deepEqual(
            steps.map(step => [step.sentence, step.additive, step.destructive]),
            [[`Allow ${max === 30 ? 'more' : 'fewer'} values in things.value_id.`, true, false]],
          )
          await (await database.open(location, to)).close()
          assert.deepEqual(await database.plan(location, to), [])
        }
        await assert.rejects(database.open(location, modelOf(string({ max: 4 }))), /at most 4 characters/)
      }))
  })
}
