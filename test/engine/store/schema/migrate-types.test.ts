/** Fields that change their type: the converted values on every database, and the values that are refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boolean, collection, date, integer, json, model, number, text } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { Model } from '../../../../src/model/model.ts'
import { migrationDatabases } from '../../../setups/databases/migrations.ts'
import { Client } from '../blog.ts'
import { access } from './migration-cases.ts'

const types = {
  text: () => text({ optional: true }),
  integer: () => integer({ optional: true }),
  number: () => number({ optional: true }),
  boolean: () => boolean({ optional: true }),
  json: () => json({ optional: true }),
  date: () => date({ optional: true }),
}
type Type = keyof typeof types

const refused = Symbol('refused')

/** The type before, a value, the type after, and the converted value. */
const changes: readonly (readonly [
  from: Type,
  value: JsonValue,
  to: Type,
  is: JsonValue | typeof refused,
])[] = [
  ['text', '12', 'integer', 12],
  ['text', '-7', 'integer', -7],
  ['text', 'twelve', 'integer', refused],
  ['text', '1.0', 'integer', refused],
  ['text', '99999999999999999999', 'integer', refused],
  ['text', '1.5', 'number', 1.5],
  ['text', '2e3', 'number', 2000],
  ['text', 'NaN', 'number', refused],
  ['text', '-Infinity', 'number', refused],
  ['text', '', 'number', refused],
  ['text', 'true', 'boolean', true],
  ['text', 'No', 'boolean', false],
  ['text', '0', 'boolean', false],
  ['text', '2', 'boolean', refused],
  ['text', 'perhaps', 'boolean', refused],
  ['text', ' { "a" : [1, null] }', 'json', { a: [1, null] }],
  ['text', 'words', 'json', refused],
  ['integer', 12, 'text', '12'],
  ['integer', 12, 'number', 12],
  ['integer', 1, 'boolean', true],
  ['integer', 5, 'boolean', refused],
  ['integer', 12, 'json', 12],
  ['number', 1.5, 'text', '1.5'],
  ['number', 3, 'text', '3'],
  ['number', 1e20, 'text', '1.0e+20'],
  ['number', -1.5, 'integer', -1],
  ['number', 1e300, 'integer', refused],
  ['number', 0, 'boolean', false],
  ['number', 1.5, 'boolean', refused],
  ['number', 3, 'json', 3],
  ['number', 0.25, 'json', 0.25],
  ['boolean', true, 'text', '1'],
  ['boolean', true, 'integer', 1],
  ['boolean', false, 'number', 0],
  ['boolean', true, 'json', true],
  ['boolean', false, 'json', false],
  ['json', { a: 1 }, 'text', '{"a":1}'],
  ['json', 12, 'integer', 12],
  ['json', 'x', 'integer', refused],
  ['json', [1], 'number', refused],
  ['json', true, 'boolean', true],
  ['json', 'true', 'boolean', refused],
  ['date', '2026-01-31', 'text', '2026-01-31'],
  ['date', '2026-01-31', 'json', refused],
]

/** A model with a collection for each change; those that are done have the new type. */
function modelOf(isDone: (index: number) => boolean): Model {
  const collections = changes.map(([from, , to], index) => {
    const field = types[isDone(index) ? to : from]
    return [`c${index}s`, collection({ access, fields: { value: field(), other: text({ optional: true }) } })]
  })
  return checkModel(model(Object.fromEntries(collections)))
}

function label(n: number): string {
  const [from, value, to] = changes[n] ?? []
  return `${JSON.stringify(value)} of ${from} as ${to}`
}

for (const database of migrationDatabases) {
  test(`${database.name}: a change of type converts the values of the field, or is refused`, () =>
    database.withEmpty(async location => {
      const before = modelOf(() => false)
      const store = await database.open(location, before)
      const client = new Client(store, before)
      for (const [n, [, value]] of changes.entries()) {
        await client.create(`c${n}s`, { value })
        await client.create(`c${n}s`, { value: null })
      }
      await store.close()
      const wrong = changes.flatMap(([, , , is], n) => (is === refused ? [n] : []))
      const apply = (next: Model) => database.apply(location, next, { allowDestructive: true })
      for (const n of wrong) {
        await assert.rejects(
          apply(modelOf(index => index === n)),
          /MigrationError: Nothing was changed/,
          label(n),
        )
      }
      const after = modelOf(n => !wrong.includes(n))
      await apply(after)
      assert.deepEqual(await database.plan(location, after), [])
      const opened = await database.open(location, after)
      const reader = new Client(opened, after)
      for (const [n, [, value, , is]] of changes.entries()) {
        const read = async (id: number) => ((await reader.item(`c${n}s`, id)) as { value: JsonValue }).value
        assert.deepEqual(await read(1), is === refused ? value : is, label(n))
        assert.equal(await read(2), null, label(n))
      }
      await opened.close()
    }))
}
