/** Values survive the JSON of the database unchanged and sort in the order of their type. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../src/engine/plan/plan.ts'
import {
  anyone,
  boolean,
  collection,
  date,
  datetime,
  integer,
  json,
  model,
  number,
  string,
  text,
  unique,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { cases } from '../../cases.ts'
import { Client, fields, listOfPosts } from './blog.ts'
import { failure } from './contract.ts'
import { databaseKinds } from './databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const values = checkModel(
  model({
    values: collection({
      access,
      fields: {
        number: number({ optional: true }),
        integer: integer({ optional: true }),
        text: text({ optional: true }),
        json: json({ optional: true }),
        boolean: boolean({ optional: true }),
        datetime: datetime({ optional: true }),
        date: date({ optional: true }),
        left: string({ optional: true }),
        right: string({ optional: true }),
      },
      indexes: [unique('left', 'right')],
    }),
  }),
)

/** The value after a round trip through JSON. */
const asSent = (value: JsonValue): unknown => JSON.parse(JSON.stringify(value))

const numbers = [
  0.1,
  4.35,
  0.000001,
  1e-7,
  0.1 + 0.2,
  1 / 3,
  1e21,
  -0,
  5e-324,
  2.2250738585072014e-308,
  1.7976931348623157e308,
]
const wholeNumbers = [0, -1, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1)]
const large = [1e15, 1e16, 123456789012345680000, 2 ** 53, 2 ** 63, -(2 ** 63)]

const fieldValues: readonly [string, fc.Arbitrary<JsonValue>, readonly JsonValue[]][] = [
  ['number', fc.double({ noNaN: true, noDefaultInfinity: true }), [...numbers, ...wholeNumbers, ...large]],
  ['integer', fc.maxSafeInteger(), wholeNumbers],
  [
    'text',
    fc.string({ unit: 'binary' }).filter(text => text.isWellFormed()),
    ['', '\u0000', '\\u0000', '💚"\\\u2028'],
  ],
  [
    'json',
    fc.jsonValue().filter(value => value !== null) as fc.Arbitrary<JsonValue>,
    [{ a: [1, 0.1, 1e21] }, [], {}],
  ],
  ['boolean', fc.boolean(), [true, false]],
]

for (const { name, within } of databaseKinds) {
  const withValues = (use: (client: Client) => Promise<void>): Promise<void> =>
    within(async ({ open }) => {
      const store = await open(values, { cacheBytes: 0 })
      try {
        await use(new Client(store, values))
      } finally {
        await store.close()
      }
    })

  // The transports refuse U+0000: PostgreSQL cannot keep it.
  const storable = (value: JsonValue) =>
    name === 'SQLite' || typeof value !== 'string' || !value.includes('\0')

  for (const [field, arbitrary, examples] of fieldValues) {
    test(`${name}: ${field}: every value is returned as JSON.stringify writes it, by creates and by reads`, () =>
      withValues(async client => {
        await fc.assert(
          fc.asyncProperty(arbitrary.filter(storable), async value => {
            const created = await client.create('values', { [field]: value })
            const item = (await client.item('values', created.id)) as Record<string, unknown>
            assert.deepEqual(item[field], asSent(value))
            assert.deepEqual(JSON.parse(created.text ?? ''), item)
            await client.remove('values', created.id)
          }),
          {
            examples: examples.filter(storable).map(example => [example]),
            ...(name === 'SQLite' ? cases(300) : cases(100)),
          },
        )
      }))
  }

  test(`${name}: filters and cursors find exactly the stored number`, () =>
    withValues(async client => {
      const all = [...new Set([...numbers, ...wholeNumbers, ...large])]
      for (const number of all) await client.create('values', { number })
      const base: ListShape = { ...listOfPosts, collection: 'values', select: fields('id', 'number') }
      for (const number of all) {
        const shape: ListShape = {
          ...base,
          filter: { kind: 'compare', field: 'number', operator: 'eq', param: 2 },
        }
        const { items } = await client.list(shape, [0, 100, number])
        assert.ok(items?.length && items.every(item => Number(item.number) === number), `${number}`)
      }
      const sort = totalOrder([{ field: 'number', descending: false }])
      const walk: ListShape = { ...base, sort, window: { kind: 'cursor', after: undefined, limit: 0 } }
      const later: ListShape = { ...walk, window: { kind: 'cursor', after: [1, 2], limit: 0 } }
      const met: number[] = []
      let page = await client.list(walk, [1])
      for (; ; page = await client.list(later, [1, ...page.next])) {
        met.push(...(page.items ?? []).map(item => Number(item.number)))
        if (!page.next) break
      }
      assert.deepEqual(
        met,
        all
          .map(Number)
          .toSorted((a, b) => a - b)
          .map(number => number + 0),
      )
    }))

  test(`${name}: texts sort by code point, not by UTF-16 code unit`, () =>
    withValues(async client => {
      const texts = ['a', 'B', 'é', 'z', '\u{1f49a}', '\uffee', '', 'aa', 'Z', '\u{10ffff}']
      for (const text of texts) await client.create('values', { text })
      const codePoints = (text: string) => [...text].map(character => character.codePointAt(0) ?? 0)
      const expected = texts.toSorted((a, b) => {
        const [left, right] = [codePoints(a), codePoints(b)]
        const difference = left.findIndex((point, index) => point !== right[index])
        return difference < 0
          ? left.length - right.length
          : (left[difference] ?? 0) - (right[difference] ?? -1)
      })
      const sort = totalOrder([{ field: 'text', descending: false }])
      const shape: ListShape = { ...listOfPosts, collection: 'values', sort, select: fields('text') }
      const { items } = await client.list(shape, [0, 100])
      assert.deepEqual(
        items?.map(item => item.text),
        expected,
      )
      assert.notDeepEqual(expected, texts.toSorted())
    }))

  test(`${name}: times keep their milliseconds, dates stay dates, and both sort chronologically`, () =>
    withValues(async client => {
      const times = ['2026-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z']
      for (const time of times) await client.create('values', { datetime: time, date: time.slice(0, 10) })
      const sort = totalOrder([{ field: 'datetime', descending: true }])
      const shape: ListShape = {
        ...listOfPosts,
        collection: 'values',
        sort,
        select: fields('datetime', 'date'),
      }
      const { items } = await client.list(shape, [0, 9])
      const expected = times
        .toSorted()
        .toReversed()
        .map(datetime => ({ datetime, date: datetime.slice(0, 10) }))
      assert.deepEqual(items, expected)
    }))

  test(`${name}: a duplicate of a unique pair is a conflict that names both fields; a pair with a null never conflicts`, () =>
    withValues(async client => {
      await client.create('values', { left: 'a', right: 'b' })
      await client.create('values', { left: 'a', right: 'c' })
      const conflict = client.create('values', { left: 'a', right: 'b' })
      await assert.rejects(conflict, failure('CONFLICT', 'left', 'taken'))
      await assert.rejects(conflict, {
        message: 'A value is already taken: left, right.',
        details: ['left', 'right'].map(field => ({
          field,
          code: 'taken',
          message: 'Another item already has these values of left and right.',
        })),
      })
      const { id } = await client.create('values', { left: 'a' })
      await client.create('values', { left: 'a' })
      await assert.rejects(client.update('values', id, { right: 'c' }), failure('CONFLICT', 'left', 'taken'))
      assert.equal(((await client.item('values', id)) as { right: unknown }).right, null)
    }))

  test(`${name}: a text of more than a megabyte is stored unchanged`, () =>
    withValues(async client => {
      const long = '💚 long '.repeat(125_000)
      const { id } = await client.create('values', { text: long })
      assert.equal(((await client.item('values', id)) as { text: string }).text, long)
    }))
}
