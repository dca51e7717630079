/** Checks the merging of fields against the rule of graphql-js, which takes too long for production. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  GraphQLError,
  Kind,
  OverlappingFieldsCanBeMergedRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import { checkMerging } from '../../../src/api/graphql/documents/field-merging.ts'
import { fragmentsOf } from '../../../src/api/graphql/documents/fragments.ts'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'

const { schema } = createEngine({ model: checkModel(blog), run: {} as Run, hooks: new Map() })
const others = specifiedRules.filter(rule => rule !== OverlappingFieldsCanBeMergedRule)

/** The error of a document that is otherwise valid; undefined when it is valid. */
function mergeError(source: string): string | undefined {
  const document = parse(source)
  const root = schema.getQueryType()
  const [operation] = document.definitions.filter(node => node.kind === Kind.OPERATION_DEFINITION)
  if (!root || !operation) throw new Error('there is no query')
  try {
    checkMerging(schema, root, operation.selectionSet, fragmentsOf(document))
    return undefined
  } catch (error) {
    if (error instanceof GraphQLError) return error.message
    throw error
  }
}

function messagesByRule(source: string): readonly string[] {
  return validate(schema, parse(source), [OverlappingFieldsCanBeMergedRule]).map(({ message }) => message)
}

const node = (inner: string) => `{ node(nodeId: "User:1") { ${inner} } }`

const right = [
  '{ me { id id } me { name } }',
  '{ a: posts(limit: 1) { id } a: posts(limit: 1) { title } }',
  '{ posts(limit: 1, filter: {or: [{id: {gt: 1, lt: 3}}, {}]}) { id } posts(filter: {or: [{id: {lt: 3, gt: 1}}, {}]}, limit: 1) { id } }',
  node('... on User { x: name } ... on Post { x: title }'),
  node('nodeId ... on User { nodeId posts { id } } ... on Post { nodeId author { name } }'),
  node('... on User { x: posts { y: title } } ... on OauthApp { x: secrets { y: prefix } }'),
  '{ me { ... on Node { ... on User { x: name } ... on Post { x: title } } } }',
  '{ posts { ... on Node { nodeId } nodeId ...F ...F } } fragment F on Node { __typename ... on Post { id } }',
]
const wrong = [
  '{ me { x: id x: name } }',
  '{ posts(limit: 1) { id } posts(limit: 2) { id } }',
  '{ posts(filter: {or: [{id: {gt: 1}}, {}]}) { id } posts(filter: {or: [{}, {id: {gt: 1}}]}) { id } }',
  '{ posts(filter: {id: {in: [1, 2]}}) { id } posts(filter: {id: {in: ["1,2"]}}) { id } }',
  '{ me { posts { x: id } } me { posts { x: title } } }',
  node('... on User { x: name } ... on Post { x: body }'),
  node('... on User { x: posts { id } } ... on Post { x: author { id } }'),
  node('... on User { x: name } ... on User { x: email }'),
  node('x: nodeId ... on User { x: id }'),
  node('... on User { x: posts { y: title } } ... on OauthApp { x: secrets { y: clientSecret } }'),
  '{ me { x: email ... on Node { x: nodeId } } }',
  '{ me { ... on Node { ... on User { x: name } ... on Post { x: body } } } }',
]

for (const source of right) {
  test(`can be merged: ${source}`, () => {
    assert.deepEqual(validate(schema, parse(source)), [])
    assert.equal(mergeError(source), undefined)
  })
}

for (const source of wrong) {
  test(`cannot be merged: ${source}`, () => {
    assert.deepEqual(validate(schema, parse(source), others), [])
    assert.equal(messagesByRule(source).length, 1)
    const message = mergeError(source)
    assert.match(message ?? '', /^Fields ".*" conflict because .*different aliases/)
  })
}

// Few aliases, so that response keys coincide.
const alias = fc.constantFrom('', '', '', '', 'x: ')
const leaf = (...names: readonly string[]) =>
  fc.tuple(alias, fc.constantFrom('nodeId', '__typename', 'id', ...names)).map(([as, name]) => as + name)
const { user, shared } = fc.letrec<{ user: string; post: string; shared: string }>(tie => {
  const set = (part: fc.Arbitrary<string>) =>
    fc.array(part, { minLength: 1, maxLength: 3 }).map(parts => `{ ${parts.join(' ')} }`)
  const list = (head: fc.Arbitrary<string>, body: fc.Arbitrary<string>) =>
    fc.tuple(alias, head, set(body)).map(([as, name, inner]) => `${as}${name} ${inner}`)
  const on = (type: string, content: fc.Arbitrary<string>) =>
    set(content).map(inner => `... on ${type} ${inner}`)
  const posts = fc.constantFrom('posts', 'posts', 'posts(limit: 1)')
  return {
    user: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf('name', 'email'),
      fc.constant('...U'),
      list(posts, tie('post')),
      on('Node', tie('shared')),
      on('User', tie('user')),
    ),
    post: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf('title', 'body'),
      fc.constant('...P'),
      list(fc.constant('author'), tie('user')),
      on('Node', tie('shared')),
      on('Post', tie('post')),
    ),
    shared: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('nodeId', '__typename', 'x: nodeId', '...N', '...U', '...P'),
      on('User', tie('user')),
      on('Post', tie('post')),
      on('Node', tie('shared')),
    ),
  }
})
const documents = fc
  .tuple(
    fc.array(shared, { minLength: 1, maxLength: 4 }),
    fc.array(user, { minLength: 1, maxLength: 3 }),
    fc.tuple(leaf('name'), leaf('title'), leaf('email', 'role')),
  )
  .map(([nodes, users, [ofUser, ofPost, ofShared]]) => {
    const fragments = `fragment U on User { ${ofUser} } fragment P on Post { ${ofPost} } fragment N on Node { nodeId ... on User { ${ofShared} } }`
    return `{ node(nodeId: "User:1") { ${nodes.join(' ')} } me { ${users.join(' ')} } } ${fragments}`
  })

test('a random document is refused exactly if graphql-js’s rule refuses it', () => {
  let refused = 0
  let accepted = 0
  const property = fc.property(documents, source => {
    const message = mergeError(source)
    if (message === undefined) accepted++
    else refused++
    assert.equal(
      message !== undefined,
      messagesByRule(source).length > 0,
      `${source}\n${message}\n${messagesByRule(source)}`,
    )
  })
  fc.assert(property, { numRuns: 1000 })
  assert.ok(refused > 100 && accepted > 100, `${refused} refused, ${accepted} taken`)
})
