/** Request bodies: validity, canonical values, and faults that are all reported at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { collection as declared, model as modelOf, role, string } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import { type BodyMode, bodySchema, itemSchema } from '../../src/model/schemas.ts'
import { bodyValidator, requireDocuments } from '../../src/model/validate.ts'
import rich from '../models/rich.ts'

const model = checkModel(rich)

function collection(name: string) {
  const collection = model.collections.get(name)
  assert.ok(collection)
  return collection
}

const check = (name: string, mode: BodyMode, body: unknown) =>
  bodyValidator(collection(name))[mode](body).values

function refusal(name: string, mode: BodyMode, body: unknown): ApiError {
  try {
    check(name, mode, body)
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    return error
  }
  assert.fail(`taken: ${JSON.stringify(body)}`)
}

const faults = (name: string, mode: BodyMode, body: unknown) =>
  (refusal(name, mode, body).details ?? []).map(({ field, code }) => `${field}: ${code}`).sort()

const task = { title: 'Paint', project_id: 1 }

test('a valid body gives its canonical values and no others', () => {
  const body = {
    ...task,
    seen_at: '2026-01-01T01:00:00+01:00',
    reference: 'ABCDEF00-0000-4000-8000-000000000000',
  }
  assert.deepEqual(check('tasks', 'create', body), {
    ...task,
    seen_at: '2026-01-01T00:00:00.000Z',
    reference: 'abcdef00-0000-4000-8000-000000000000',
  })
  assert.deepEqual(check('contacts', 'merge', { email: 'Ada@Example.com' }), { email: 'ada@example.com' })
  assert.deepEqual(check('tasks', 'merge', {}), {})
})

test('null clears an optional field in every kind of body', () => {
  assert.deepEqual(check('tasks', 'create', { ...task, notes: null }), { ...task, notes: null })
  assert.deepEqual(check('tasks', 'replace', { title: 'x', due_on: null }), { title: 'x', due_on: null })
  assert.deepEqual(check('tasks', 'merge', { extra: null, link: null }), { extra: null, link: null })
  assert.deepEqual(faults('tasks', 'merge', { title: null, state: null, done: null, reference: null }), [
    'done: null_not_allowed',
    'reference: null_not_allowed',
    'state: null_not_allowed',
    'title: null_not_allowed',
  ])
  assert.deepEqual(faults('projects', 'merge', { settings: null }), ['settings: null_not_allowed'])
})

test('all faults are reported at once, each with its field', () => {
  const body = {
    titel: 'x',
    id: 3,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    score: 3,
    ticket: 'internal',
    notes: 4,
    priority: 9,
    estimate: -1,
    state: 'lost',
    due_on: '2026-02-30',
    link: 'javascript:alert(1)',
    done: 'yes',
    project_id: '1',
  }
  assert.deepEqual(
    faults('tasks', 'create', body),
    [
      'created_at: read_only',
      'done: wrong_type',
      'due_on: bad_format',
      'estimate: too_small',
      'id: read_only',
      'link: bad_format',
      'notes: wrong_type',
      'priority: too_large',
      'project_id: wrong_type',
      'score: read_only',
      'state: not_allowed',
      'ticket: unknown_field',
      'title: required',
      'titel: unknown_field',
      'updated_at: read_only',
    ].sort(),
  )
})

test('the message of a fault says what is valid', () => {
  const messages: readonly (readonly [string, BodyMode, object, string])[] = [
    ['tasks', 'merge', { titel: 'x' }, 'There is no field titel. Did you mean `title`?'],
    ['tasks', 'merge', { tickets: 'x' }, 'There is no field tickets.'],
    ['tasks', 'merge', { id: 1 }, 'id is read-only. Leave it out.'],
    [
      'tasks',
      'merge',
      { project_id: 1 },
      'project_id can only be set when the item is created. Leave it out.',
    ],
    ['tasks', 'merge', { title: 'x'.repeat(121) }, 'title must have at most 120 characters.'],
    ['tasks', 'merge', { title: 'a\nb' }, 'title must be a single line.'],
    ['tasks', 'merge', { state: 'lost' }, 'state must be open, doing or done.'],
    ['tasks', 'merge', { priority: 0 }, 'priority must be at least 1.'],
    ['tasks', 'merge', { priority: '1' }, 'priority must be a whole number.'],
    ['tasks', 'merge', { due_on: 'x' }, 'due_on must be a date that exists, as YYYY-MM-DD.'],
    ['tasks', 'merge', { title: null }, 'title must not be null.'],
    ['tasks', 'merge', { notes: 'a\u0000' }, 'notes: The text holds U+0000, which cannot be stored.'],
    [
      'tasks',
      'merge',
      { extra: ['\ud800'] },
      'extra: The text holds half of a surrogate pair, which cannot be stored.',
    ],
    [
      'projects',
      'replace',
      { name: 'x', settings: { theme: 'red' } },
      'settings/theme must be light or dark.',
    ],
    ['projects', 'replace', { name: 'x', settings: { colour: 'red' } }, 'settings must not have `colour`.'],
    ['projects', 'merge', { settings: 'red' }, 'settings must be an object.'],
    ['projects', 'merge', { code: 'abc' }, 'The body has 2 faults. code must have at least 4 characters.'],
    ['contacts', 'merge', { passphrase: 'short' }, 'passphrase must have at least 8 characters.'],
  ]
  for (const [name, mode, body, message] of messages) assert.equal(refusal(name, mode, body).message, message)
})

test('a create, a PUT and a PATCH each require and accept their own fields', () => {
  const project = { name: 'House', slug: 'house' }
  assert.deepEqual(check('projects', 'create', project), project)
  assert.deepEqual(faults('projects', 'replace', project), ['slug: immutable'])
  assert.deepEqual(faults('projects', 'replace', {}), ['name: required'])
  assert.deepEqual(check('projects', 'merge', {}), {})
  assert.deepEqual(faults('contacts', 'replace', { email: 'a@b.co' }), ['passphrase: required'])
})

test('a body that is not an object is BAD_REQUEST, and one with faults VALIDATION_FAILED', () => {
  for (const body of [null, [], [{}], 'x', 3, true, undefined]) {
    assert.equal(refusal('tasks', 'create', body).code, 'BAD_REQUEST')
  }
  assert.equal(refusal('tasks', 'create', {}).code, 'VALIDATION_FAILED')
})

test('members named like properties of Object.prototype are unknown fields and have no effect', () => {
  const body: unknown = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":1,"toString":2,"hasOwnProperty":3}',
  )
  assert.deepEqual(faults('tasks', 'merge', body), [
    '__proto__: unknown_field',
    'constructor: unknown_field',
    'hasOwnProperty: unknown_field',
    'toString: unknown_field',
  ])
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('a fault of a built-in pattern is explained in words', () => {
  const body = {
    name: 'x',
    redirect_uris: ['http://example.com/', 'https://a@b.c/'],
    logo_uri: 'https://10.0.0.1/x',
  }
  const { details = [] } = refusal('oauth_apps', 'create', body)
  const messageOf = Object.fromEntries(details.map(({ field, message }) => [field, message]))
  assert.match(
    String(messageOf['redirect_uris/0']),
    /must be an https address, an http address of localhost, /,
  )
  assert.match(String(messageOf.logo_uri), /must be an https address with a public host name/)
  const messages = (collection: string, body: object) =>
    refusal(collection, 'merge', body).details?.map(({ message }) => message)
  const link = 'link must be an http or https URL, e.g. https://example.com/page.'
  assert.deepEqual(messages('tasks', { link: 'ftp://x' }), [link])
  const email = 'email must be an e-mail address, e.g. ada@example.com.'
  assert.deepEqual(messages('contacts', { email: 'x' }), [email])
})

test('the size of a refusal is limited, however large the body', () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`field_${index}`, index]))
  assert.equal(refusal('tasks', 'merge', many).details?.length, 100)
  assert.match(refusal('tasks', 'merge', many).message, /^The body has at least 100 faults\. /)
  const long = refusal('tasks', 'merge', { ['x'.repeat(100_000)]: 1, title: 'y'.repeat(100_000) })
  assert.ok(JSON.stringify(long.details).length < 1000)
  const columns = Array.from({ length: 50_000 }, () => 1)
  const body = { name: 'x', settings: { columns } }
  assert.deepEqual(faults('projects', 'replace', body), ['settings/columns: too_long'])
})

test('an object in a PATCH is a patch of a document, and only the merged document must fit the schema', () => {
  const settings = { theme: null, unheard: { of: 1 } }
  assert.deepEqual(check('projects', 'merge', { settings }), { settings })
  assert.deepEqual(faults('projects', 'merge', { settings: ['light'] }), ['settings: wrong_type'])
  assert.deepEqual(faults('tasks', 'merge', { extra: { a: ['\0'] } }), ['extra: bad_format'])
  const field = collection('projects').fields.get('settings') ?? assert.fail()
  const requireOne = (value: JsonValue, maxLength?: number) => () =>
    requireDocuments([{ field, value, maxLength }])
  requireOne({ theme: 'dark' })()
  assert.throws(requireOne(settings), { code: 'VALIDATION_FAILED' })
  assert.throws(
    requireOne({ theme: 'dark' }, 10),
    /settings would become too large: .* at most 10 characters/,
  )
})

test('a replacement may omit a required field that not every caller may write', () => {
  const { collections } = checkModel(
    modelOf({
      notes: declared({ fields: { seal: string({ access: { write: role('admin') } }), name: string() } }),
    }),
  )
  const notes = collections.get('notes') ?? assert.fail()
  assert.deepEqual(bodySchema(notes, 'replace').required, ['name'])
  assert.deepEqual(bodySchema(notes, 'create').required, ['seal', 'name'])
})

test('the schema of a body lists the writable fields, that of an item the readable ones', () => {
  const create = bodySchema(collection('contacts'), 'create')
  assert.deepEqual(create.required, ['email', 'passphrase'])
  assert.equal(create.additionalProperties, false)
  assert.deepEqual(Object.keys(Object(create.properties)), [
    ...['owner_id', 'email', 'website', 'born_on', 'passphrase', 'blocked'],
  ])
  assert.equal(bodySchema(collection('contacts'), 'merge').required, undefined)
  const item = itemSchema(collection('contacts'))
  assert.deepEqual(Object.keys(Object(item.properties)), [
    ...['id', 'owner_id', 'email', 'website', 'born_on', 'blocked', 'created_at'],
  ])
  assert.deepEqual(item.required, Object.keys(Object(item.properties)))
})

test('in the schema of an item, a field with a read rule is nullable and not required', () => {
  const { properties, required } = itemSchema(collection('users'))
  assert.deepEqual(Reflect.get(Object(properties), 'phone'), {
    ...{ pattern: '^\\+?[0-9 ]+$', type: ['string', 'null'], maxLength: 30 },
  })
  assert.ok(Array.isArray(required) && !required.includes('phone') && !required.includes('password_hash'))
})

test('a property in the schema has its type, its default and its deprecation', () => {
  const { properties } = bodySchema(collection('tasks'), 'create')
  const propertyOf = (name: string) => Reflect.get(Object(properties), name)
  assert.deepEqual(propertyOf('state'), { type: 'string', enum: ['open', 'doing', 'done'], default: 'open' })
  assert.equal(propertyOf('colour').deprecated, true)
  assert.deepEqual(propertyOf('extra').type, ['object', 'array', 'string', 'number', 'boolean', 'null'])
})

test('a text above the limit for patterns is not matched', () => {
  const slug = 'A'.repeat(1001)
  assert.deepEqual(faults('projects', 'create', { name: 'x', slug }), ['slug: too_long'])
  assert.deepEqual(faults('projects', 'create', { name: 'x', slug: slug.slice(0, 41) }), [
    'slug: bad_pattern',
    'slug: too_long',
  ])
})
