/** Documents get the errors of all rules of graphql-js: a rule that was left out would report none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { OverlappingFieldsCanBeMergedRule, parse, specifiedRules, validate } from 'graphql'
import { rulesFor } from '../../../src/api/graphql/documents/validation-rules.ts'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'

const { schema } = createEngine({ model: checkModel(blog), run: {} as Run, hooks: new Map() })
const standardRules = specifiedRules.filter(rule => rule !== OverlappingFieldsCanBeMergedRule)

/** At least one document for each rule, which breaks no other rule. */
const broken = [
  'type T { id: ID }',
  'query a { me { id } } query a { me { id } }',
  '{ me { id } } { me { id } }',
  'subscription { newPost { id } postUpdated { id } }',
  'subscription named { newPost { id } postUpdated { id } }',
  'subscription { __typename }',
  'query($a: Nothing) { posts(limit: $a) { id } }',
  '{ me { ... on Nothing { id } } }',
  '{ me { ... on ID { id } } }',
  'fragment F on ID { id } { me { ...F } }',
  'query($a: User) { posts(limit: $a) { id } }',
  '{ me }',
  '{ me { id { id } } }',
  '{ me { nothing } }',
  '{ nothing }',
  'fragment F on User { id } fragment F on User { id } { me { ...F } }',
  '{ me { ...F } }',
  'fragment F on User { id } { me { id } }',
  'fragment F on Post { id } { me { ...F } }',
  '{ me { ... on Post { id } } }',
  'fragment F on User { ...F } { me { ...F } }',
  'query($a: Int, $a: Int) { posts(limit: $a) { id } }',
  '{ posts(limit: $a) { id } }',
  '{ me { id @skip(if: $a) } }',
  'query($a: Int) { me { id } }',
  '{ me { id @nothing } }',
  '{ me { id @skip(if: true) @skip(if: true) } }',
  '{ me { id @skip } }',
  '{ me { id @skip(unless: true) } }',
  'query @skip(if: true) { me { id } }',
  '{ posts(nothing: 1) { id } }',
  '{ posts(limit: 1, limit: 1) { id } }',
  '{ posts(limit: "a") { id } }',
  '{ posts(orderBy: [NOTHING]) { id } }',
  '{ posts(filter: {nothing: 1}) { id } }',
  '{ posts(filter: {not: {}, not: {}}) { id } }',
  'query($a: Int = "b") { posts(limit: $a) { id } }',
  '{ post { id } }',
  'mutation { createPost { id } }',
  'query($a: String) { posts(limit: $a) { id } }',
]

/** Parts of valid and invalid documents, for every rule. */
const parts = fc.constantFrom(
  ...[
    'id',
    'me { id }',
    'nothing',
    'author { id }',
    'posts { id }',
    'posts(limit: $a) { id }',
    '...F',
    '... on User',
  ],
  ...[
    '... on Post { title }',
    '@skip(if: true)',
    '@skip(if: $a)',
    '@defer',
    'posts(limit: 1, limit: "x") { id }',
  ],
  ...['newPost { id }', 'createPost(title: "$ @ ( ...") { id }', 'post { id }', '{ id }', '__typename'],
)
const documents = fc
  .record({
    head: fc.constantFrom(
      '',
      'query',
      'query q',
      'query($a: Int)',
      'query($a: Nothing)',
      'mutation',
      'subscription',
    ),
    root: fc.array(parts, { minLength: 1, maxLength: 4 }),
    inner: fc.array(parts, { minLength: 1, maxLength: 3 }),
    tail: fc.constantFrom(
      '',
      'fragment F on User { id }',
      'fragment F on Post { ...F title(a: 1) }',
      'query q { me { id } }',
    ),
  })
  .map(({ head, root, inner, tail }) => `${head} { ${root.join(' ')} me { ${inner.join(' ')} } } ${tail}`)

function sameErrors(source: string): number | undefined {
  let document: ReturnType<typeof parse>
  try {
    document = parse(source)
  } catch {
    return undefined
  }
  const errors = validate(schema, document, rulesFor(source, true)).map(error => error.toJSON())
  assert.deepEqual(
    errors,
    validate(schema, document, standardRules).map(error => error.toJSON()),
    source,
  )
  return errors.length
}

for (const source of broken) {
  test(`refused with the errors of all rules: ${source}`, () => {
    assert.ok(Number(sameErrors(source)) > 0)
  })
}

test('a random document gets the same errors as from all rules', () => {
  let parsed = 0
  const property = fc.property(documents, source => {
    if (sameErrors(source) !== undefined) parsed++
  })
  fc.assert(property, { numRuns: 2000 })
  assert.ok(parsed > 500, `${parsed}`)
})

test('introspection queries are refused only when introspection is disabled', () => {
  const source = '{ __schema { types { name } } }'
  assert.deepEqual(validate(schema, parse(source), rulesFor(source, true)), [])
  assert.equal(validate(schema, parse(source), rulesFor(source, false)).length, 2)
})
