/** The engine with the reference model on a real database, for several callers. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { BoundOperation, Engine, ExecutionContext } from '../../../src/api/graphql/engine.ts'
import { createEngine, type EngineOptions } from '../../../src/api/graphql/execute/create-engine.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, type Principal, system, user } from '../../../src/base/principal.ts'
import { operationParts } from '../../../src/engine/logic/operations/call.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { CreateHooks, Run } from '../../../src/engine/plan/run.ts'
import { openSqlite, type SqliteStore } from '../../../src/engine/store/sqlite/sqlite.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import blog from '../../models/blog.ts'
import { loggedChange } from '../events/stub.ts'

const model = checkModel(blog)
const nobody = anonymous('192.0.2.1')
const ada = user(1, 'admin', 'all')
const ben = user(2, 'user', 'all')
const cleo = user(3, 'user', 'all')
const reader = user(2, 'user', new Set(['read:post']))

const context: ExecutionContext = {
  rateLimit: { limit: 1000, remaining: 990, resetAt: 1_800_000_000 },
  onFault(error) {
    throw error
  },
}

let folder: string
let store: SqliteStore
let run: Run
let engine: Engine

/** Replaces Portico's hook, which generates a key. */
const hooks: CreateHooks = new Map([
  [
    'api_keys',
    ({ name }) => ({
      computed: { prefix: 'pk_test', hash: `hash of ${name}` },
      revealed: { key: 'pk_test_secret' },
    }),
  ],
])

const engineWith = (options: Partial<EngineOptions> = {}) => createEngine({ model, run, hooks, ...options })

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'portico-engine-'))
  store = openSqlite(model, { file: join(folder, 'data.db') })
  run = createRun(createGuard(model), store)
  engine = engineWith()
  const create = async (collection: string, values: Record<string, string | number>) => {
    const set = Object.keys(values).map((field, param) => ({ field, param }))
    const shape = { kind: 'create', collection, set, computed: [], select: [] } as const
    await run.write({ shape, args: Object.values(values) }, system)
  }
  await create('users', { name: 'Ada', email: 'ada@example.org', role: 'admin' })
  await create('users', { name: 'Ben', email: 'ben@example.org' })
  await create('users', { name: 'Cy', email: 'cy@example.org' })
  for (let i = 1; i <= 5; i++) {
    await create('posts', { title: `Post ${i}`, body: `Body ${i}`, author_id: 1 + (i % 2) })
  }
})

after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

function bound(source: string, variables?: unknown, of = engine, operationName?: string): BoundOperation {
  const prepared = of.prepare(source, operationName)
  if (prepared.outcome === 'request error') assert.fail(prepared.text)
  const ready = of.bind(prepared, variables)
  if (ready.outcome === 'request error') assert.fail(ready.text)
  return ready
}

async function execute(source: string, who: Principal = ada, variables?: unknown, of = engine) {
  const { text } = await of.execute(bound(source, variables, of), who, context)
  return JSON.parse(text)
}

/** The data of a reply without errors. */
async function data(source: string, who: Principal = ada, variables?: unknown) {
  const reply = await execute(source, who, variables)
  assert.equal(reply.errors, undefined, JSON.stringify(reply.errors))
  return reply.data
}

function refused(source: string, variables?: unknown, of = engine, operationName?: string) {
  const prepared = of.prepare(source, operationName)
  const outcome = prepared.outcome === 'prepared' ? of.bind(prepared, variables) : prepared
  assert.equal(outcome.outcome, 'request error')
  return outcome.outcome === 'request error' ? outcome.errors : []
}

describe('queries', () => {
  test('the reply contains the selected fields in order, and the cost', async () => {
    const ready = bound('{ posts(limit: 1) { title id author { email id } } }')
    const { text } = await engine.execute(ready, ada, context)
    assert.equal(
      text,
      '{"data":{"posts":[{"title":"Post 1","id":"1","author":{"email":"ben@example.org","id":"2"}}]},"extensions":{"cost":2}}',
    )
    assert.equal(ready.cost, 2)
  })

  test('a whole operation is one read', async () => {
    let reads = 0
    const counting: Run = {
      ...run,
      composite(plan, principal) {
        reads++
        return run.composite(plan, principal)
      },
    }
    const source =
      '{ a: post(id: 1) { id author { posts { id } } } posts { id } usersConnection { totalCount } me { id } }'
    await execute(source, ada, undefined, engineWith({ run: counting }))
    assert.equal(reads, 1)
  })

  test('a write invalidates a cached reply', async () => {
    const source = '{ users(filter: { id: { eq: 3 } }) { name } }'
    assert.deepEqual(await data(source), { users: [{ name: 'Cy' }] })
    await data('mutation { updateUser(id: 3, name: "Cyd") { id } }')
    assert.deepEqual(await data(source), { users: [{ name: 'Cyd' }] })
    await data('mutation { updateUser(id: 3, name: "Cy") { id } }')
  })

  test('an id that no item can have finds nothing', async () => {
    for (const id of ['"0"', '"-1"', '"1.0"', '"x"', '"99999999999999999"', '" 1"', '9']) {
      assert.deepEqual(await data(`{ post(id: ${id}) { id } }`), { post: null }, id)
    }
  })

  test('filters, order, cursors and limits select the expected rows', async () => {
    const rows: readonly (readonly [args: string, ids: readonly string[]])[] = [
      ['(filter: { title: { contains: "4" } })', ['4']],
      ['(filter: { id: { in: [1, "3"] } })', ['1', '3']],
      ['(filter: { not: { id: { lt: 4 } } })', ['4', '5']],
      ['(filter: { or: [{ id: { eq: 1 } }, { title: { eq: "Post 2" } }] })', ['1', '2']],
      ['(filter: { and: [{ id: { gt: 1 } }, { id: { lt: 3 } }] })', ['2']],
      ['(filter: { author: { name: { eq: "Ada" } } })', ['2', '4']],
      ['(filter: { body: { isNull: true } })', []],
      ['(filter: {}, orderBy: ID_DESC, limit: 2)', ['5', '4']],
      ['(orderBy: [AUTHOR_ID_DESC, ID_DESC], limit: 3)', ['5', '3', '1']],
      ['(limit: 0)', []],
      ['(limit: null, filter: null, orderBy: null)', ['1', '2', '3', '4', '5']],
    ]
    for (const [args, ids] of rows) {
      const { posts } = await data(`{ posts${args} { id } }`)
      assert.deepEqual(
        posts.map(({ id }: { id: string }) => id),
        ids,
        args,
      )
    }
  })

  test('null is refused as a filter value; isNull finds missing values', () => {
    const [error] = refused('{ posts(filter: { body: { eq: null } }) { id } }')
    assert.match(error?.message ?? '', /Use isNull to find missing values/)
    const [other] = refused('query($f: PostFilter) { posts(filter: $f) { id } }', { f: { title: null } })
    assert.match(other?.message ?? '', /"title" must not be null/)
  })

  test('null is refused even if the plan for an id like `n:1` is cached', async () => {
    const source = 'query ($id: ID) { posts(filter: { authorId: { eq: $id } }) { id } }'
    assert.deepEqual(await data(source, ada, { id: 'n:1' }), { posts: [] })
    const [error] = refused(source, { id: null })
    assert.match(error?.message ?? '', /"eq" must not be null/)
  })

  test('a connection is paged forward to its end and backward to its start', async () => {
    const page = async (args: string) => {
      const source = `{ postsConnection(orderBy: TITLE_DESC, ${args}) { totalCount nodes { id }
        edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
      return (await data(source)).postsConnection
    }
    const ids = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id).join('')
    const first = await page('first: 2')
    const second = await page(`first: 2, after: "${first.pageInfo.endCursor}"`)
    const third = await page(`first: 2, after: "${second.pageInfo.endCursor}"`)
    assert.deepEqual([first, second, third].map(ids), ['54', '32', '1'])
    const ends = [first, second, third].map(({ pageInfo }) => [
      pageInfo.hasPreviousPage,
      pageInfo.hasNextPage,
    ])
    assert.deepEqual(ends, [
      [false, true],
      [true, true],
      [true, false],
    ])
    const back = await page(`last: 2, before: "${third.pageInfo.startCursor}"`)
    assert.equal(ids(back), '32')
    assert.deepEqual([back.pageInfo.hasPreviousPage, back.pageInfo.hasNextPage], [true, true])
    assert.equal(ids(await page('last: 2')), '21')
    assert.ok([first, second, third, back].every(({ totalCount }) => totalCount === 5))
    assert.equal(first.edges[1].cursor, first.pageInfo.endCursor)
  })

  test('a value too long for a cursor is an error only if a cursor is selected', async () => {
    await data('mutation($body: String) { updatePost(id: 5, body: $body) { id } }', ada, {
      body: 'x'.repeat(9000),
    })
    const ordered = (fields: string) =>
      `{ postsConnection(orderBy: BODY_DESC, first: 1) { nodes { id } ${fields} } }`
    const shown = await data(ordered('edges { node { id } } pageInfo { hasNextPage } totalCount'))
    assert.deepEqual(shown.postsConnection, {
      nodes: [{ id: '5' }],
      edges: [{ node: { id: '5' } }],
      pageInfo: { hasNextPage: true },
      totalCount: 5,
    })
    for (const fields of ['edges { cursor }', 'pageInfo { startCursor }', 'pageInfo { endCursor }']) {
      const { errors } = await execute(ordered(fields))
      assert.equal(errors.length, 1)
      assert.match(errors[0].message, /values of body, id are too long for a cursor/)
    }
    await data('mutation { updatePost(id: 5, body: "Body 5") { id } }')
  })

  test('the list of an item can begin after a cursor', async () => {
    const { postsConnection } = await data('{ postsConnection(first: 1) { pageInfo { endCursor } } }')
    const variables = { after: postsConnection.pageInfo.endCursor }
    const source = 'query($after: String) { user(id: 2) { posts(after: $after) { id } } }'
    assert.deepEqual(await data(source, ada, variables), { user: { posts: [{ id: '3' }, { id: '5' }] } })
    const all = { user: { posts: [{ id: '1' }, { id: '3' }, { id: '5' }] } }
    assert.deepEqual(await data(source, ada, { after: null }), all)
  })

  test('a malformed cursor, or one of another list or order, is refused', async () => {
    const { postsConnection } = await data('{ postsConnection(first: 1) { edges { cursor } } }')
    const [{ cursor }] = postsConnection.edges
    for (const [field, text] of [
      ['usersConnection', cursor],
      ['postsConnection', 'x'],
      ['postsConnection', ''],
    ]) {
      const [error] = refused(`{ ${field}(after: ${JSON.stringify(text)}) { totalCount } }`)
      assert.equal(error?.extensions?.code, 'INVALID_CURSOR')
    }
    const [ordered] = refused(`{ posts(orderBy: TITLE_ASC, after: "${cursor}") { id } }`)
    assert.equal(ordered?.extensions?.code, 'INVALID_CURSOR')
    const [both] = refused('{ postsConnection(first: 1, last: 1) { totalCount } }')
    assert.match(both?.message ?? '', /either "first" and "after", or "last" and "before"/)
  })

  test('me, the rate limit and introspection can be selected together', async () => {
    const source =
      '{ __typename me { name } rateLimit { limit cost remaining resetAt } __type(name: "Post") { name } }'
    const reply = await execute(source, ben)
    assert.deepEqual(reply, {
      data: {
        __typename: 'Query',
        me: { name: 'Ben' },
        rateLimit: { limit: 1000, cost: 101, remaining: 990, resetAt: 1_800_000_000 },
        __type: { name: 'Post' },
      },
      extensions: { cost: 101 },
    })
    const unlimited = await engine.execute(bound('{ rateLimit { cost } }'), ben, {
      ...context,
      rateLimit: undefined,
    })
    assert.deepEqual(JSON.parse(unlimited.text).data, { rateLimit: null })
  })

  test('an introspection field that fails has its own error', async () => {
    const source =
      'query ($name: String = "Post") { wrong: __type(name: $name) { name } __schema { queryType { name } } }'
    const reply = await execute(source, ada, { name: null })
    assert.deepEqual(reply.data, { wrong: null, __schema: { queryType: { name: 'Query' } } })
    const [error, ...others] = reply.errors
    assert.deepEqual([error.path, error.extensions.code, others], [['wrong'], 'BAD_REQUEST', []])
    assert.match(error.message, /not to be null/)
  })

  test('me returns each caller’s own account, though the plan is shared', async () => {
    assert.deepEqual(await data('{ me { id } b: me { name } }', ada), { me: { id: '1' }, b: { name: 'Ada' } })
    assert.deepEqual(await data('{ me { id } b: me { name } }', ben), { me: { id: '2' }, b: { name: 'Ben' } })
  })

  test('any name can be an alias', async () => {
    const reply = await execute('{ __proto__: post(id: 1) { constructor: id toString: title } }')
    assert.equal(JSON.stringify(reply.data), '{"__proto__":{"constructor":"1","toString":"Post 1"}}')
  })

  test('an introspection has the bound of every answer, with variables and without, and at each request', async () => {
    const logic = operationParts(model, hooks)
    const types = (alias: string) => `${alias}: __type(name: "Post") { name fields { name } }`
    const readBytes = 2 * JSON.stringify(await data(`{ ${types('__type')} }`)).length
    const answers = { ...logic.limits.answers, readBytes }
    const bounded = engineWith({ logic: { ...logic, limits: { ...logic.limits, answers } } })
    for (const [source, variables] of [
      ['{ __schema { types { name fields { name } } } }', undefined],
      ['query ($with: Boolean!) { __schema { types { name @include(if: $with) } } }', { with: true }],
      // Each of them would fit.
      [`{ ${types('a')} ${types('b')} ${types('c')} }`, undefined],
    ] as const) {
      for (let round = 0; round < 2; round++) {
        const { text } = await bounded.execute(bound(source, variables, bounded), ada, context)
        const { errors, data } = JSON.parse(text)
        assert.ok(text.length < 2000, source)
        assert.equal(errors[0].extensions.code, 'ANSWER_TOO_LARGE')
        assert.ok(data === null || Object.values(data).every(value => value === null), source)
      }
    }
    const { __type } = (await execute(`{ ${types('__type')} }`, ada, undefined, bounded)).data
    assert.equal(__type.name, 'Post')
  })

  test('introspection can be disabled, and then errors contain no suggestions', async () => {
    const closed = engineWith({ introspection: false })
    const [error] = refused('{ __schema { types { name } } }', undefined, closed)
    assert.match(error?.message ?? '', /introspection has been disabled/i)
    const [typo] = refused('{ pots { id } }', undefined, closed)
    assert.equal(typo?.message, 'Cannot query field "pots" on type "Query".')
    assert.deepEqual((await execute('{ __typename }', ada, undefined, closed)).data, { __typename: 'Query' })
  })
})

describe('nodes', () => {
  const whole = `query($id: ID!) {
    node(nodeId: $id) { __typename nodeId ... on Post { what: title author { nodeId } } ... on User { what: name } }
  }`
  const post = { __typename: 'Post', nodeId: 'Post:1', what: 'Post 1', author: { nodeId: 'User:2' } }
  const cy = { __typename: 'User', nodeId: 'User:3', what: 'Cy' }

  test('node ids contain their type: one document finds items of all types, with one read each', async () => {
    for (const [id, node] of [
      ['Post:1', post],
      ['User:3', cy],
      ['Post:1', post],
    ] as const) {
      assert.deepEqual(await data(whole, ada, { id }), { node })
    }
  })

  test('node ids can be literals, and one document can select several nodes', async () => {
    const source =
      '{ a: node(nodeId: "User:3") { ... on User { name } } b: node(nodeId: "Post:1") { ...P } } fragment P on Post { title }'
    assert.deepEqual(await data(source), { a: { name: 'Cy' }, b: { title: 'Post 1' } })
  })

  test('every item returns its node id, whatever path selects it', async () => {
    const source =
      '{ me { nodeId } posts(limit: 1) { x: nodeId } usersConnection(last: 1) { nodes { nodeId ... on Node { y: nodeId } } } }'
    assert.deepEqual(await data(source), {
      me: { nodeId: 'User:1' },
      posts: [{ x: 'Post:1' }],
      usersConnection: { nodes: [{ nodeId: 'User:3', y: 'User:3' }] },
    })
  })

  test('ids of unknown types share one plan', () => {
    const source = 'query ($id: ID!) { node(nodeId: $id) { nodeId } }'
    const variants = ['Nope:1', 'Other:1', 'x', 'Post:1'].map(id =>
      Reflect.get(bound(source, { id }), 'variant'),
    )
    assert.equal(new Set(variants).size, 2)
  })

  test('an id of no item finds null', async () => {
    for (const id of [
      'Post:99',
      '1',
      '',
      'Post:',
      'Post:01',
      'Post:1 ',
      'Nothing:1',
      'post:1',
      'Post:1:1',
      7,
    ]) {
      assert.deepEqual(await data(whole, ada, { id }), { node: null }, JSON.stringify(id))
    }
  })

  test('fragments on other types are skipped, and fragments on the item’s type apply inside an interface', async () => {
    const source = '{ node(nodeId: "User:3") { ... on Post { title } } }'
    assert.deepEqual(await data(source), { node: {} })
    const within = '{ me { ... on Node { nodeId ... on Post { title } ... on User { name } } } }'
    assert.deepEqual(await data(within), { me: { nodeId: 'User:1', name: 'Ada' } })
  })

  test('access rules, scopes and cost are those of the item’s type', async () => {
    const refusedTo = async (who: Principal, id: string) => (await execute(whole, who, { id })).errors[0]
    const { extensions, path } = await refusedTo(nobody, 'User:3')
    assert.deepEqual([extensions.code, path], ['UNAUTHORIZED', ['node']])
    assert.equal((await refusedTo(reader, 'User:3')).extensions.code, 'INSUFFICIENT_SCOPE')
    assert.deepEqual((await data('{ node(nodeId: "Post:1") { nodeId } }', nobody)).node, { nodeId: 'Post:1' })
    assert.deepEqual(await data('{ node(nodeId: "ApiKey:1") { nodeId } }', ben), { node: null })
    assert.equal(bound(whole, { id: 'Post:1' }).cost, 2)
    assert.equal(bound(whole, { id: 'User:1' }).cost, 1)
    assert.equal(bound(whole, { id: 'nothing' }).cost, 1)
  })

  test('mutations return node ids', async () => {
    const { createPost } = await data('mutation { createPost(title: "node", authorId: 1) { id nodeId } }')
    assert.equal(createPost.nodeId, `Post:${createPost.id}`)
    const deleted = await data(`mutation { deletePost(id: ${createPost.id}) }`)
    assert.deepEqual(deleted, { deletePost: createPost.id })
  })
})

describe('refused fields', () => {
  test('a refused field is an error at its path; its siblings are returned', async () => {
    const reply = await execute('{ users { id } posts(limit: 1) { id } me { id } }', nobody)
    // The list of users is non-null, so the whole data is null.
    assert.equal(reply.data, null)
    assert.deepEqual(reply.errors, [
      {
        message: 'No caller can read users without a credential.',
        locations: [{ line: 1, column: 3 }],
        path: ['users'],
        extensions: { code: 'UNAUTHORIZED' },
      },
    ])
    const other = await execute('{ user(id: 1) { id } posts(limit: 1) { id } }', nobody)
    assert.deepEqual(other.data, { user: null, posts: [{ id: '1' }] })
    assert.deepEqual(other.errors[0].path, ['user'])
  })

  test('the error for a missing scope names it, for relations and for filters', async () => {
    const { data: none, errors } = await execute('{ post(id: 1) { id author { id } } }', reader)
    assert.deepEqual(none, { post: null })
    assert.deepEqual(errors[0].path, ['post', 'author'])
    assert.equal(errors[0].extensions.code, 'INSUFFICIENT_SCOPE')
    assert.match(errors[0].message, /read:user/)
    const filtered = await execute('{ posts(filter: { author: { name: { eq: "Ada" } } }) { id } }', reader)
    assert.equal(filtered.data, null)
    assert.equal(filtered.errors[0].extensions.code, 'INSUFFICIENT_SCOPE')
    assert.deepEqual(await data('{ posts(limit: 1) { id } }', reader), { posts: [{ id: '1' }] })
  })

  test('fields that are not reached have no errors', async () => {
    const reply = await execute('{ posts(filter: { id: { eq: 99 } }) { author { id } } }', nobody)
    assert.deepEqual(reply.data, { posts: [] })
    assert.equal(reply.errors, undefined)
  })

  test('callers with different permissions get different replies', async () => {
    const source = '{ posts(limit: 1) { id author { email } } }'
    assert.equal((await execute(source, ada)).data.posts[0].author.email, 'ben@example.org')
    assert.equal((await execute(source, nobody)).data, null)
    assert.equal((await execute(source, reader)).data, null)
    assert.equal((await execute(source, ben)).data.posts[0].author.email, 'ben@example.org')
  })
})

describe('mutations', () => {
  test('create, update and delete return their results', async () => {
    const { createPost } = await data(
      'mutation($t: String!) { createPost(title: $t, authorId: 2) { id title body author { name posts(orderBy: ID_DESC, limit: 1) { title } } } }',
      ben,
      { t: 'New' },
    )
    const { id, ...shown } = createPost
    assert.deepEqual(shown, { title: 'New', body: null, author: { name: 'Ben', posts: [{ title: 'New' }] } })
    const source = 'mutation($id: ID!, $b: String) { updatePost(id: $id, body: $b) { title body } }'
    assert.deepEqual(await data(source, ben, { id, b: 'B' }), { updatePost: { title: 'New', body: 'B' } })
    // An omitted variable changes nothing; null clears the field.
    assert.deepEqual(await data(source, ben, { id }), { updatePost: { title: 'New', body: 'B' } })
    assert.deepEqual(await data(source, ben, { id, b: null }), { updatePost: { title: 'New', body: null } })
    assert.deepEqual(await data('mutation($id: ID!) { deletePost(id: $id) }', ben, { id }), {
      deletePost: id,
    })
    assert.deepEqual(await data('query($id: ID!) { post(id: $id) { id } }', ben, { id }), { post: null })
  })

  test('mutations run in order; a failed nullable one does not stop the next', async () => {
    const reply = await execute(
      'mutation { a: updatePost(id: 1, title: "One") { title } b: updatePost(id: 77, title: "x") { id } __typename c: updatePost(id: 1, title: "Post 1") { title } }',
      ada,
    )
    assert.deepEqual(reply.data, {
      a: { title: 'One' },
      b: null,
      __typename: 'Mutation',
      c: { title: 'Post 1' },
    })
    assert.deepEqual(
      reply.errors.map(({ path, extensions }: { path: string[]; extensions: object }) => [path, extensions]),
      [[['b'], { code: 'NOT_FOUND' }]],
    )
  })

  test('a failed non-null mutation ends the operation, and earlier ones stay applied', async () => {
    const reply = await execute(
      'mutation { a: updatePost(id: 1, title: "Done") { id } b: createPost(title: "x", authorId: 77) { id } c: updatePost(id: 1, title: "Never") { id } }',
      ada,
    )
    assert.equal(reply.data, null)
    assert.deepEqual(reply.errors[0].path, ['b'])
    assert.deepEqual(await data('{ post(id: 1) { title } }'), { post: { title: 'Done' } })
    await data('mutation { updatePost(id: 1, title: "Post 1") { id } }')
  })

  test('validation errors name the arguments', async () => {
    const { errors } = await execute(
      `mutation { createPost(title: "${'x'.repeat(201)}", authorId: "x") { id } }`,
    )
    assert.equal(errors[0].extensions.code, 'VALIDATION_FAILED')
    const fields = errors[0].extensions.details.map(({ field }: { field: string }) => field)
    assert.deepEqual(fields, ['title', 'authorId'])
    assert.doesNotMatch(JSON.stringify(errors), /author_id/)
  })

  test('messages name fields as arguments', async () => {
    const names = ['author_id', 'created_at']
    const details = names.map(field => ({
      field,
      code: 'taken',
      message: 'Not these author_id and created_at.',
    }))
    const write = async () => {
      throw new ApiError('CONFLICT', 'Taken: author_id, created_at.', { details })
    }
    const taken = engineWith({ run: { ...run, write } })
    const { errors } = await execute(
      'mutation { createPost(title: "t", authorId: 1) { id } }',
      ada,
      undefined,
      taken,
    )
    assert.equal(errors[0].message, 'Taken: authorId, createdAt.')
    const messages = errors[0].extensions.details.map(({ message }: { message: string }) => message)
    assert.deepEqual(messages, Array(2).fill('Not these authorId and createdAt.'))
  })

  test('a missing permission is reported before validation errors', async () => {
    const bad = 'mutation { createPost(title: "", authorId: "x") { id } }'
    assert.equal((await execute(bad, nobody)).errors[0].extensions.code, 'UNAUTHORIZED')
    assert.equal((await execute(bad, reader)).errors[0].extensions.code, 'INSUFFICIENT_SCOPE')
    const foreign = await execute('mutation { createPost(title: "x", authorId: 1) { id } }', ben)
    assert.equal(foreign.errors[0].extensions.code, 'FORBIDDEN')
    assert.equal((await data('{ postsConnection { totalCount } }')).postsConnection.totalCount, 5)
  })

  test('an unreadable field of the result is an error, and the write stands', async () => {
    const writer = user(2, 'user', new Set(['write:post']))
    const reply = await execute('mutation { updatePost(id: 1, body: "w") { body author { id } } }', writer)
    assert.deepEqual(reply.data, { updatePost: null })
    assert.deepEqual(reply.errors[0].path, ['updatePost', 'author'])
    assert.equal(reply.errors[0].extensions.code, 'INSUFFICIENT_SCOPE')
    assert.deepEqual(await data('{ post(id: 1) { body } }'), { post: { body: 'w' } })
    await data('mutation { updatePost(id: 1, body: "Body 1") { id } }')
  })

  test('a caller who cannot read the created item gets its id in the error', async () => {
    const unseen = engineWith({ run: { ...run, write: async () => ({ id: 7, text: null }) } })
    const reply = await execute(
      'mutation { createPost(title: "t", authorId: 1) { id } }',
      ada,
      undefined,
      unseen,
    )
    assert.equal(reply.data, null)
    assert.equal(reply.errors[0].message, 'Item 7 of posts was created, but you may not see it.')
  })

  test('a revealed value is returned by its create only', async () => {
    const source = 'mutation { createApiKey(name: "k") { id key name prefix } }'
    const { createApiKey } = await data(source, ben)
    const { id, ...shown } = createApiKey
    assert.deepEqual(shown, { key: 'pk_test_secret', name: 'k', prefix: 'pk_test' })
    const again = await data('query($id: ID!) { apiKey(id: $id) { key name } }', ben, { id })
    assert.deepEqual(again, { apiKey: { key: null, name: 'k' } })
  })

  test('a revealed value does not conflict with an alias of the same name', async () => {
    const fields = '{ key: name k: key }'
    const { createApiKey } = await data(`mutation { createApiKey(name: "n") ${fields} }`, ben)
    assert.deepEqual(createApiKey, { key: 'n', k: 'pk_test_secret' })
    const { apiKeys } = await data(`{ apiKeys(filter: { name: { eq: "n" } }) ${fields} }`, ben)
    assert.deepEqual(apiKeys, [{ key: 'n', k: null }])
  })
})

describe('requests that are refused', () => {
  test('a document with several operations needs the name of one of them', () => {
    const two = 'query a { me { id } } query b { posts(limit: 1) { id } }'
    const [a, b] = ['a', 'b'].map(name => engine.prepare(two, name))
    assert.equal(a?.outcome, 'prepared')
    assert.equal(b?.outcome, 'prepared')
    assert.notEqual(a, b)
    assert.equal(engine.prepare(two, 'a'), a)
    assert.equal(engine.prepare(two, 'b'), b)
    for (const name of [undefined, null, '', 'c']) {
      assert.equal(engine.prepare(two, name).outcome, 'request error', String(name))
    }
  })

  test('errors of syntax, validation, variables and operation names have the code BAD_REQUEST', () => {
    const two = 'query A { __typename } query B { me { id } }'
    const rows: readonly (readonly [source: string, message: RegExp, variables?: unknown, name?: string])[] =
      [
        ['{', /Syntax Error/],
        ['', /Syntax Error/],
        ['{ nothing }', /Cannot query field "nothing"/],
        ['fragment F on User { id }', /never used|0 operations/],
        [two, /has 2 operations/],
        [two, /no operation named "C"/, undefined, 'C'],
        ['query($n: Int!) { posts(limit: $n) { id } }', /\$n" has invalid value.*to be provided/],
        ['query($n: Int!) { posts(limit: $n) { id } }', /\$n" has invalid value/, { n: 'x' }],
        ['{ posts(filter: { createdAt: { gt: "soon" } }) { id } }', /DateTime/],
        ['{ users(filter: { email: { eq: "no address" } }) { id } }', /e-mail address/],
        // A variable with a default is allowed for a non-null argument (GraphQL 5.8.5), and may still be null.
        ['query($v: ID = 1) { user(id: $v) { id } }', /\$v" must not be null.*"ID!"/, { v: null }],
        ['mutation($v: ID = 1) { deletePost(id: $v) }', /\$v" must not be null.*"ID!"/, { v: null }],
        [
          'query($v: PostFilter = {}) { posts(filter: { or: [$v] }) { id } }',
          /\$v" must not be null.*"PostFilter!"/,
          { v: null },
        ],
        [
          'query($v: PostOrderBy = ID_DESC) { posts(orderBy: [$v]) { id } }',
          /\$v" must not be null.*"PostOrderBy!"/,
          { v: null },
        ],
        [
          'query($v: ID = 1) { posts(filter: { id: { in: [$v] } }) { id } }',
          /\$v" must not be null.*"ID!"/,
          { v: null },
        ],
        ...['skip', 'include'].map(
          name =>
            [
              `query($v: Boolean = true) { posts { id @${name}(if: $v) } }`,
              /\$v" must not be null.*"Boolean!"/,
              { v: null },
            ] as const,
        ),
      ]
    for (const [source, message, variables, name] of rows) {
      const [error] = refused(source, variables, engine, name)
      assert.match(error?.message ?? '', message, source)
      assert.equal(error?.extensions?.code, 'BAD_REQUEST', source)
    }
  })

  test('the named operation runs', async () => {
    const two = 'query A { a: __typename } query B { b: __typename }'
    const { text } = await engine.execute(bound(two, undefined, engine, 'B'), ada, context)
    assert.deepEqual(JSON.parse(text).data, { b: 'Query' })
  })

  test('every error in a document has its location', () => {
    const errors = refused('{ x\n y }')
    assert.deepEqual(
      errors.map(({ locations }) => locations),
      [[{ line: 1, column: 3 }], [{ line: 2, column: 2 }]],
    )
    const [time] = refused('{ posts(filter: { createdAt: { gt: "soon" } }) { id } }')
    assert.deepEqual(time?.locations, [{ line: 1, column: 36 }])
  })
})

describe('faults', () => {
  test('a synchronous fault of the store is an error at every field of its read', async () => {
    const faults: unknown[] = []
    const failing: Run = {
      ...run,
      composite() {
        throw new Error('disk on fire')
      },
    }
    const source = '{ a: post(id: 1) { id } __typename b: post(id: 2) { id } }'
    const of = engineWith({ run: failing })
    const { text } = await of.execute(bound(source, undefined, of), ada, {
      ...context,
      onFault: error => faults.push(error),
    })
    const reply = JSON.parse(text)
    assert.deepEqual(reply.data, { a: null, __typename: 'Query', b: null })
    assert.deepEqual(
      reply.errors.map(({ path, extensions }: { path: string[]; extensions: object }) => [path, extensions]),
      [
        [['a'], { code: 'INTERNAL_ERROR' }],
        [['b'], { code: 'INTERNAL_ERROR' }],
      ],
    )
    assert.doesNotMatch(text, /fire/)
    assert.ok(faults.length > 0)
  })

  test('an asynchronous fault of the store is an error, too', async () => {
    const of = engineWith({
      run: { ...run, composite: () => Promise.reject(new Error('later')) },
    })
    const { text } = await of.execute(bound('{ post(id: 1) { id } }', undefined, of), ada, {
      ...context,
      onFault: () => {},
    })
    assert.equal(JSON.parse(text).errors[0].extensions.code, 'INTERNAL_ERROR')
  })

  test('an asynchronous read gives the same reply', async () => {
    const later: Run = { ...run, composite: async (plan, principal) => run.composite(plan, principal) }
    const of = engineWith({ run: later })
    const source = '{ posts(limit: 2) { id author { id } } }'
    assert.deepEqual(await execute(source, ada, undefined, of), await execute(source, ada))
  })
})

describe('subscriptions', () => {
  const changed = (id: number, row: object = {}) => loggedChange({ id, row: JSON.stringify({ id, ...row }) })
  const second = { title: 'Post 2', author_id: 1 }

  const open = (source: string, who: Principal) => {
    const subscribed = engine.subscribe(bound(source), who, context.onFault)
    if ('outcome' in subscribed) assert.fail(subscribed.text)
    return subscribed
  }

  test('a subscription names its topics, and delivers the item as selected', async () => {
    const subscribed = open('subscription { post: newPost { id title author { name } } }', ada)
    assert.deepEqual(subscribed.topics, [{ collection: 'posts', kind: 'created' }])
    const text = await subscribed.render(changed(2, second))
    assert.deepEqual(JSON.parse(text ?? '').data, {
      post: { id: '2', title: 'Post 2', author: { name: 'Ada' } },
    })
    assert.match(text ?? '', /"extensions":\{"cost":\d+,"eventId":"1"\}\}$/)
    const kindsOf = (source: string) => open(source, ada).topics.map(({ kind }) => kind)
    assert.deepEqual(kindsOf('subscription { postUpdated { id } }'), ['updated'])
    assert.deepEqual(kindsOf('subscription { postDeleted { id } }'), ['deleted', 'updated'])
  })

  test('a fault is reported, and the subscriber gets an internal error', async () => {
    const faults: unknown[] = []
    // An invalid reply: a number instead of a list.
    const composite = () => ({ kind: 'composite', text: '{"newUser":{"posts":1}}' }) as const
    const of = engineWith({ run: { ...run, composite } })
    const source = 'subscription { newUser { posts { id } } }'
    const subscribed = of.subscribe(bound(source, undefined, of), ada, fault => faults.push(fault))
    if ('outcome' in subscribed) assert.fail(subscribed.text)
    const text = await subscribed.render(changed(3))
    assert.match(text ?? '', /INTERNAL_ERROR/)
    assert.match(String(faults), /posts must be a list/)
  })

  test('a hidden item is not delivered', async () => {
    const keys = open('subscription { newApiKey { id } }', cleo)
    const others = open('subscription { newApiKey { id } }', ben)
    const own = await data('{ apiKeys(limit: 1) { id } }', ben)
    const id = Number(own.apiKeys[0].id)
    assert.equal(await keys.render(changed(id, { user_id: 2 })), null)
    assert.notEqual(await others.render(changed(id, { user_id: 2 })), null)
  })

  test('a deletion is rendered from the row in the log, by the rules on that row', async () => {
    const row = { id: 500, title: 'Gone', body: null, author_id: 1, created_at: '2026-01-01T00:00:00.000Z' }
    const source =
      'subscription { postDeleted { id nodeId title body createdAt author { name } __typename } }'
    const text = await open(source, ada).render(changed(500, row))
    assert.deepEqual(JSON.parse(text ?? '').data.postDeleted, {
      id: '500',
      nodeId: 'Post:500',
      title: 'Gone',
      body: null,
      createdAt: '2026-01-01T00:00:00.000Z',
      author: { name: 'Ada' },
      __typename: 'Post',
    })
    const key = { id: 9, user_id: 2, name: 'k', created_at: '2026-01-01T00:00:00.000Z' }
    const keys = 'subscription { apiKeyDeleted { id } }'
    assert.notEqual(await open(keys, ben).render(changed(9, key)), null)
    assert.equal(await open(keys, cleo).render(changed(9, key)), null)
  })

  test('a related item that was deleted with it is null', async () => {
    const row = { id: 501, title: 'x', author_id: 4711, created_at: '2026-01-01T00:00:00.000Z' }
    const text = await open('subscription { postDeleted { id author { id } } }', ada).render(
      changed(501, row),
    )
    const reply = JSON.parse(text ?? '')
    assert.equal(reply.data, null)
    assert.deepEqual(reply.errors[0].path, ['postDeleted', 'author'])
  })

  test('the row is shown as of the event, whatever happened to it since', async () => {
    const text = await open('subscription { newPost { title } }', ben).render(changed(2, { title: 'First' }))
    assert.deepEqual(JSON.parse(text ?? '').data, { newPost: { title: 'First' } })
  })

  test('callers who can never see an event are refused', () => {
    const denied = engine.subscribe(bound('subscription { newUser { id } }'), nobody, context.onFault)
    assert.equal('outcome' in denied && denied.errors[0]?.extensions?.code, 'UNAUTHORIZED')
    const scoped = engine.subscribe(bound('subscription { newUser { id } }'), reader, context.onFault)
    assert.equal('outcome' in scoped && scoped.errors[0]?.extensions?.code, 'INSUFFICIENT_SCOPE')
  })

  test('a field that the caller cannot read is an error in each event', async () => {
    const text = await open('subscription { newPost { id author { id } } }', nobody).render(changed(1))
    const reply = JSON.parse(text ?? '')
    assert.equal(reply.data, null)
    assert.deepEqual(reply.errors[0].path, ['newPost', 'author'])
  })

  test('callers with equal permissions get the same text', async () => {
    const first = open('subscription { newPost { id title } }', ben)
    const second = open('subscription { newPost { id title } }', user(3, 'user', 'all'))
    const change = changed(3, { title: 'Post 3' })
    assert.match((await first.render(change)) ?? '', /Post 3/)
    assert.equal(await first.render(change), await second.render(change))
  })
})
