/** Properties of all declarations, values and bodies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../src/base/errors.ts'
import {
  anyone,
  boolean,
  type CollectionName,
  checkModel,
  choice,
  collection,
  type Declaration,
  date,
  datetime,
  email,
  field,
  integer,
  type JsonValue,
  json,
  ModelError,
  model,
  not,
  number,
  owner,
  related,
  relation,
  role,
  signedIn,
  string,
  text,
  url,
  uuid,
} from '../../src/index.ts'
import type { AccessRule } from '../../src/model/access.ts'
import type { FieldDeclaration } from '../../src/model/fields/declared.ts'
import { canonicalOf } from '../../src/model/json-schema/faults.ts'
import { bodySchema, mergesObjects } from '../../src/model/schemas.ts'
import { suggest } from '../../src/model/suggest.ts'
import { bodyValidator } from '../../src/model/validate.ts'
import rich from '../models/rich.ts'

const runs = { numRuns: 200 }

const traits = fc.record(
  { optional: fc.boolean(), unique: fc.boolean(), writeOnly: fc.boolean(), immutable: fc.boolean() },
  { requiredKeys: [] },
)

const fieldOf = (traitsOfField: object, kind: number): FieldDeclaration => {
  const fieldFunctions = [string, text, integer, number, boolean, date, datetime, email, url, uuid]
  const build = fieldFunctions[kind % fieldFunctions.length] ?? string
  return (build as (options: object) => FieldDeclaration)(traitsOfField)
}

const rule: fc.Arbitrary<AccessRule> = fc.letrec<{ rule: AccessRule }>(tie => ({
  rule: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(anyone, signedIn, role('admin'), owner('owner_id'), field('id').gt(3)),
    tie('rule').map(not),
    fc.tuple(tie('rule'), tie('rule')).map(([a, b]) => a.and(b)),
    fc.tuple(tie('rule'), tie('rule')).map(([a, b]) => a.or(b)),
    fc.constant(related('owner', field('role').eq('editor'))),
    fc.constant(related('siblings', owner('owner_id'))),
  ),
})).rule

/** With prefix and suffix, so that no name is reserved or conflicts with another. */
const name = fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.nat(99)).map(([word, n]) => `x${word}_x${n}x`)

const someCollection = fc
  .record({
    fields: fc.dictionary(name, fc.tuple(traits, fc.nat(9))),
    read: rule,
    update: rule,
    updatedAt: fc.boolean(),
  })
  .map(({ fields, read, update, updatedAt }) => {
    const own = Object.entries(fields).map(([key, [options, kind]]) => [key, fieldOf(options, kind)] as const)
    const links = {
      owner_id: relation('users'),
      next_id: relation('posts_root', { optional: true }),
    }
    return { fields: { ...Object.fromEntries(own), ...links }, access: { read, update }, updatedAt }
  })

const declaration: fc.Arbitrary<Declaration> = fc
  .dictionary(name, someCollection, { maxKeys: 4 })
  .map(others => {
    const own = Object.entries(others).map(([key, options]) => {
      const sibling = relation(`${key}s`, { optional: true, inverse: 'siblings' })
      return [
        `${key}s`,
        collection({ ...options, fields: { ...options.fields, sibling_id: sibling } }),
      ] as const
    })
    const root = collection({ singular: 'root_post', fields: { title: string() } })
    return model({ ...Object.fromEntries(own), posts_root: root })
  })

test('every well-formed declaration is accepted, and keeps its fields in order', () => {
  fc.assert(
    fc.property(declaration, declared => {
      const { collections, scopes } = checkModel(declared)
      const builtin = ['api_keys', 'oauth_apps', 'oauth_app_secrets', 'webhooks', 'webhook_deliveries']
      assert.deepEqual([...collections.keys()], ['users', ...Object.keys(declared.collections), ...builtin])
      const pairs = [...collections.values()].flatMap(({ singular }) => [
        `read:${singular}`,
        `write:${singular}`,
      ])
      // Deliveries cannot be written.
      const expected = pairs.filter(scope => scope !== 'write:webhook_delivery')
      assert.deepEqual([...scopes.keys()].sort(), expected.sort())
      for (const [key, { options }] of Object.entries(declared.collections)) {
        const times = options.updatedAt ? ['created_at', 'updated_at'] : ['created_at']
        const collection = collections.get(key)
        assert.deepEqual(
          [...(collection?.fields.keys() ?? [])],
          ['id', ...Object.keys(options.fields), ...times],
        )
        for (const relationOf of collection?.relations.values() ?? [])
          assert.ok(collections.has(relationOf.target))
      }
    }),
    runs,
  )
})

test('checkModel returns a model or a list of faults, whatever a module exports', () => {
  const options = fc.dictionary(
    fc.constantFrom(
      'fields',
      'access',
      'relations',
      'indexes',
      'deprecated',
      'singular',
      'updatedAt',
      'extra',
    ),
    fc.oneof(fc.jsonValue(), fc.constant({ a: string({ max: 3 }) }), fc.constant({ read: owner('a') })),
  )
  fc.assert(
    fc.property(fc.oneof(fc.anything(), options), fc.string(), (options, key) => {
      const collections = { [key]: collection(options as never), posts: { kind: 'collection', options } }
      try {
        checkModel(model(collections as never))
      } catch (error) {
        assert.ok(error instanceof ModelError, String(error))
        assert.ok(error.faults.length > 0)
        for (const { place, message } of error.faults) assert.ok(place.length + message.length > 10)
      }
    }),
    { numRuns: 500 },
  )
})

const types = {
  string: string(),
  text: text(),
  integer: integer(),
  number: number(),
  boolean: boolean(),
  date: date(),
  datetime: datetime(),
  email: email(),
  url: url(),
  uuid: uuid(),
  json: json(),
  choice: choice(['a', 'b']),
  relation: relation('users'),
}

const someTime = fc.date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9998-12-31') })

const likely: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.jsonValue() as fc.Arbitrary<JsonValue>,
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.integer(),
  fc.emailAddress(),
  fc.webUrl(),
  fc.uuid().map(value => value.toUpperCase()),
  someTime.map(time => time.toISOString()),
  someTime.map(time => time.toISOString().slice(0, 10)),
  fc
    .tuple(someTime, fc.constantFrom('+01:30', '-23:59'))
    .map(([time, zone]) => time.toISOString().slice(0, 19) + zone),
)

test('the canonical form of a value is stable and survives JSON', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(types)), likely, ({ type }, value) => {
      const canonical = canonicalOf(type, value)
      if ('fault' in canonical) return
      assert.deepEqual(canonicalOf(type, canonical.value), canonical)
      // Compared as text, since a document may contain -0, which JSON writes as 0.
      const copy: JsonValue = JSON.parse(JSON.stringify(canonical.value))
      assert.equal(JSON.stringify(canonicalOf(type, copy)), JSON.stringify(canonical))
    }),
    { numRuns: 2000 },
  )
})

test('the text of a canonical value is parsed as that value', () => {
  const scalars = Object.values(types).filter(({ type }) => type.operators.includes('eq'))
  fc.assert(
    fc.property(fc.constantFrom(...scalars), likely, ({ type }, value) => {
      const canonical = canonicalOf(type, value)
      if (!('fault' in canonical)) assert.deepEqual(type.fromText(String(canonical.value)), canonical.value)
    }),
    { numRuns: 2000 },
  )
})

test('the canonical form of a datetime is the same instant', () => {
  fc.assert(
    fc.property(someTime, fc.integer({ min: -1439, max: 1439 }), (time, minutes) => {
      const ahead = Math.abs(minutes)
      const hours = String(Math.floor(ahead / 60)).padStart(2, '0')
      const zone = `${minutes < 0 ? '-' : '+'}${hours}:${String(ahead % 60).padStart(2, '0')}`
      const canonical = canonicalOf(types.datetime.type, time.toISOString().slice(0, -1) + zone)
      assert.ok('value' in canonical)
      assert.equal(Date.parse(String(canonical.value)), time.getTime() - minutes * 60_000)
    }),
    runs,
  )
})

const checked = checkModel(rich)
const collectionName: fc.Arbitrary<CollectionName<typeof rich>> = fc.constantFrom(
  'tasks',
  'projects',
  'contacts',
)

test('a body is accepted with canonical values, or refused with a fault for a field', () => {
  const fieldNames = [
    'title',
    'notes',
    'settings',
    'state',
    'email',
    'due_on',
    'seen_at',
    'extra',
    'id',
    '__proto__',
    'x',
  ]
  const body = fc.oneof(
    fc.dictionary(fc.constantFrom(...fieldNames, 'name', 'slug', 'passphrase', 'project_id'), likely),
    fc.object().map(value => JSON.parse(JSON.stringify(value)) as unknown),
  )
  const mode = fc.constantFrom('create' as const, 'replace' as const, 'merge' as const)
  fc.assert(
    fc.property(collectionName, mode, body, (name, how, value) => {
      const collection = checked.collections.get(name)
      assert.ok(collection)
      const { properties } = bodySchema(collection, how)
      try {
        const { values } = bodyValidator(collection)[how](value)
        for (const [key, value] of Object.entries(values)) {
          assert.ok(Object.hasOwn(Object(properties), key))
          const written = collection.fields.get(key)
          assert.ok(written)
          // A patch of a document need not fit the schema: the merged document is checked later.
          const isPatch =
            how === 'merge' && mergesObjects(written) && value === Object(value) && !Array.isArray(value)
          if (isPatch) continue
          if (value === null) assert.ok(written.optional)
          else assert.deepEqual(canonicalOf(written.type, value), { value })
        }
      } catch (error) {
        assert.ok(error instanceof ApiError, String(error))
        assert.equal(error.code, 'VALIDATION_FAILED')
        assert.ok(error.details && error.details.length > 0)
      }
    }),
    { numRuns: 1500 },
  )
})

test('a name with one typo is corrected, and an unrelated one is not', () => {
  const names = ['title', 'author_id', 'created_at']
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.nat(20), (right, index) => {
      const place = index % right.length
      assert.equal(suggest(right.slice(0, place) + right.slice(place + 1), names), right)
      assert.equal(suggest(`${right.slice(0, place)}z${right.slice(place)}`, names), right)
    }),
    runs,
  )
  assert.equal(suggest('qqqqqq', names), undefined)
  assert.equal(suggest('titel', names), 'title')
  assert.equal(suggest('x'.repeat(1000), ['x'.repeat(1000)]), undefined)
})
