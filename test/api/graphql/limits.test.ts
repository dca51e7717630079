/** The limits of documents: each error names the count and the limit, before validation and execution. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine } from '../../../src/api/graphql/engine.ts'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'

/** Throws when the engine runs anything. */
const run = new Proxy({} as Run, {
  get(_, name) {
    throw new Error(`run.${String(name)} was reached`)
  },
})

const engine = createEngine({ model: checkModel(blog), run, hooks: new Map() })

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator)

/** The message of the only error, which must be a request error. */
function refusalOf(source: string, variables?: unknown, of: Engine = engine): string {
  const prepared = of.prepare(source, undefined)
  const outcome = prepared.outcome === 'prepared' ? of.bind(prepared, variables) : prepared
  if (outcome.outcome !== 'request error') assert.fail(`was not refused: ${source.slice(0, 200)}`)
  const [first] = outcome.errors
  assert.equal(first?.extensions?.code, 'BAD_REQUEST')
  assert.deepEqual(JSON.parse(outcome.text), { errors: JSON.parse(JSON.stringify(outcome.errors)) })
  return first?.message ?? ''
}

function costOf(source: string, variables?: unknown): number {
  const prepared = engine.prepare(source, undefined)
  if (prepared.outcome === 'request error') assert.fail(prepared.text)
  const bound = engine.bind(prepared, variables)
  if (bound.outcome === 'request error') assert.fail(bound.text)
  return bound.cost
}

interface RefusedDocument {
  readonly name: string
  readonly source: string
  readonly message: RegExp
}

const nested = (depth: number) => `${'{ posts { author '.repeat(depth)}{ id }${' } }'.repeat(depth)}`

/** `...F0` and its spreads contain 3 · 2 ** levels - 1 fields. */
const doubling = (levels: number) =>
  `${times(levels, i => `fragment F${i} on User { ...F${i + 1} ...F${i + 1} }`)} fragment F${levels} on User { id }`

const refusedDocuments: readonly RefusedDocument[] = [
  {
    name: '10,000 aliases',
    source: `{ ${times(10_000, i => `a${i}: me { id }`)} }`,
    message: /has \d+ characters; at most 100000/,
  },
  {
    name: 'many aliases',
    source: `{ ${times(31, i => `a${i}: me { id }`)} }`,
    message: /has 31 aliases; at most 30/,
  },
  {
    name: 'aliases in a fragment that is spread often',
    source: `{ ${times(16, i => `x${i}: me { ...F }`)} } fragment F on User { a: id }`,
    message: /has 32 aliases; at most 30/,
  },
  { name: 'depth 1,000', source: `{ me ${nested(500)} }`, message: /more than 2000 tokens; at most 2000/ },
  {
    name: 'depth 13',
    source: `{ me { ${'posts { author { '.repeat(5)} posts { id } ${'} }'.repeat(5)} } }`,
    message: /has 13 levels of depth; at most 12/,
  },
  {
    name: 'depth by fragments',
    source: `{ me { ...F0 } } ${times(12, i => `fragment F${i} on User { posts { author { ...F${i + 1} } } }`)} fragment F12 on User { id }`,
    message: /has 26 levels of depth; at most 12/,
  },
  {
    name: 'a cycle of fragments',
    source:
      '{ me { ...A } } fragment A on User { posts { author { ...B } } } fragment B on User { posts { author { ...A } } }',
    message: /"A" is spread within itself via "B"/,
  },
  {
    name: 'an unused fragment that spreads itself',
    source: '{ me { id } } fragment A on User { ...A }',
    message: /"A" is spread within itself\./,
  },
  {
    name: 'fragments that double 60 times',
    source: `{ me { ...F0 } } ${times(60, i => `fragment F${i} on User { id ...F${i + 1} ...F${i + 1} }`)} fragment F60 on User { id }`,
    message: /With its fragments expanded, the document selects more than 1000000 fields; at most 5000/,
  },
  {
    name: 'lists within lists',
    source: '{ users(limit: 100) { posts(limit: 100) { id } } }',
    message: /costs 10100 points; at most 5000/,
  },
  {
    name: 'directives',
    source: `{ me { id ${times(201, () => '@a', '')} } }`,
    message: /has 201 directives; at most 200/,
  },
  {
    name: 'directives on the operation',
    source: `query ${times(201, () => '@a', '')} { me { id } }`,
    message: /has 201 directives; at most 200/,
  },
  {
    name: 'fragments that only spread each other',
    source: `{ me { ...F0 } } ${doubling(11)}`,
    message: /With its fragments expanded, the document selects 6144 fields; at most 5000/,
  },
  {
    name: 'operations that are too large in total only',
    source: `query a { me { ...F0 } } query b { me { ...F0 } } ${doubling(10)}`,
    message: /With its fragments expanded, the document selects 6144 fields; at most 5000/,
  },
  {
    name: 'one megabyte of tokens',
    source: `{ me { ${'id '.repeat(350_000)} } }`,
    message: /has 1050011 characters; at most 100000/,
  },
  {
    name: 'a nested list argument',
    source: `{ posts(orderBy: ${'['.repeat(65)}${']'.repeat(65)}) { id } }`,
    message: /nested more than 64 levels/,
  },
  {
    name: 'a nested input object',
    source: `{ posts(filter: ${'{a:'.repeat(64)}{}${'}'.repeat(64)}) { id } }`,
    message: /nested more than 64 levels/,
  },
  {
    name: 'a nested default value',
    source: `query ($a: [Int] = ${'['.repeat(65)}${']'.repeat(65)}) { me { id } }`,
    message: /nested more than 64 levels/,
  },
  {
    name: 'an introspection query that multiplies',
    source: '{ __schema { types { fields { type { fields { name } } } } } }',
    message: /has 2 nested lists of an introspection; at most 1/,
  },
  {
    name: 'many introspections',
    source: `{ ${times(4, i => `a${i}: __schema { types { name } }`)} }`,
    message: /has 4 introspection fields; at most 3/,
  },
]

for (const { name, source, message } of refusedDocuments) {
  test(`the limits refuse ${name}`, () => {
    assert.match(refusalOf(source), message)
  })
}

test('a document beyond the limits is not validated', () => {
  const message = refusalOf(`{ ${times(31, i => `a${i}: nothing`)} }`)
  assert.match(message, /31 aliases/)
})

test('introspection does not count towards depth, and the standard introspection query is allowed', async () => {
  const { getIntrospectionQuery } = await import('graphql')
  assert.equal(costOf(getIntrospectionQuery()), 100)
})

test('the list limit applies to literals and variables, and to every list argument', () => {
  assert.match(refusalOf('{ posts(limit: 101) { id } }'), /"limit" is 101; it must be from 0 to 100/)
  assert.match(refusalOf('{ posts(limit: -1) { id } }'), /"limit" is -1/)
  assert.match(refusalOf('query($n: Int) { posts(limit: $n) { id } }', { n: 500 }), /"limit" is 500/)
  assert.match(refusalOf('{ postsConnection(first: 101) { totalCount } }'), /"first" is 101/)
  assert.match(refusalOf('{ postsConnection(last: 101) { totalCount } }'), /"last" is 101/)
  assert.match(refusalOf('{ me { posts(limit: 101) { id } } }'), /"limit" is 101/)
})

test('the cost is one point for each object that the list limits allow', () => {
  const rows: readonly (readonly [source: string, cost: number, variables?: unknown])[] = [
    ['{ __typename }', 1],
    ['{ post(id: 1) { id title } }', 1],
    ['{ posts { id } }', 10],
    ['{ posts(limit: 10) { id title author { id email } } }', 20],
    ['{ user(id: 1) { id email posts { id title author { id } } } }', 201],
    ['query($n: Int = 5) { posts(limit: $n) { id } }', 5],
    ['query($n: Int = 5) { posts(limit: $n) { id } }', 7, { n: 7 }],
    ['query($n: Int) { posts(limit: $n) { id } }', 10, { n: null }],
    ['{ postsConnection(first: 3) { nodes { author { id } } } }', 7],
    ['query($x: Boolean!) { posts { author @include(if: $x) { id } } }', 10, { x: false }],
    ['query($x: Boolean!) { posts { author @include(if: $x) { id } } }', 20, { x: true }],
    ['mutation { deletePost(id: 1) }', 10],
    ['mutation { createPost(title: "x", authorId: 1) { author { id } } }', 12],
  ]
  for (const [source, cost, variables] of rows) assert.equal(costOf(source, variables), cost, source)
})

test('a list without an index costs more for the rows that it scans', () => {
  const ordered = (by: string) => `{ posts(limit: 1, orderBy: [${by}]) { id } }`
  const filtered = (by: string, list = 'posts(limit: 1') => `{ ${list}, filter: {${by}}) { id } }`
  const rows: readonly (readonly [source: string, cost: number])[] = [
    [ordered('ID_DESC'), 1],
    [ordered('AUTHOR_ID_ASC, TITLE_ASC'), 1],
    [ordered('TITLE_ASC'), 51],
    [filtered('id: {eq: 1}'), 1],
    [filtered('authorId: {in: [1, 2]}'), 1],
    [filtered('title: {contains: "x"}'), 51],
    [filtered('title: {eq: "x"}'), 51],
    [filtered('authorId: {ne: 1}'), 51],
    [filtered('authorId: {isNull: true}'), 51],
    [filtered('authorId: {eq: 1}, title: {contains: "x"}'), 1],
    [filtered('or: [{authorId: {eq: 1}}, {id: {eq: 1}}]'), 1],
    [filtered('or: [{authorId: {eq: 1}}, {title: {eq: "x"}}]'), 51],
    [filtered('or: []'), 51],
    [filtered('not: {authorId: {eq: 1}}'), 51],
    [filtered('author: {id: {eq: 1}}'), 51],
    [filtered('author: {posts: {title: {eq: "x"}}}'), 51],
    // The lists that a filter goes through multiply, whatever the rest of the filter.
    [filtered('author: {posts: {author: {posts: {title: {eq: "x"}}}}}'), 1 + 50 * 50],
    [filtered('id: {gt: 0}, not: {author: {posts: {or: [{author: {posts: {}}}]}}}'), 1 + 50 * 50],
    [
      '{ users(limit: 10) { posts(limit: 1, filter: {author: {posts: {author: {posts: {}}}}}) { id } } }',
      10 * (1 + 5 * 50 + 1),
    ],
    [filtered('email: {eq: "x@example.org"}', 'users(limit: 1'), 1],
    ['{ postsConnection(first: 1, filter: {authorId: {eq: 1}}) { nodes { id } } }', 2],
    ['{ postsConnection(first: 1, filter: {authorId: {eq: 1}}) { totalCount } }', 52],
    ['{ postsConnection(first: 1) { totalCount } }', 2],
    ['{ users(limit: 10) { posts(limit: 1, filter: {title: {eq: "x"}}) { id } } }', 10 * (1 + 5 + 1)],
    ['mutation { deletePost(id: 1) }', 10],
  ]
  for (const [source, cost] of rows) assert.equal(costOf(source), cost, source)
  const scans = times(
    30,
    i => `a${i}: users(limit: 10) { posts(limit: 1, filter: {title: {eq: "x"}}) { id } }`,
  )
  assert.equal(costOf(`{ ${scans} }`), 30 * 70)
})

test('a filter through three nested lists is refused', () => {
  const filter = `${'{author: {posts: '.repeat(3)}{title: {eq: "x"}}${'}}'.repeat(3)}`
  assert.match(
    refusalOf(`{ posts(limit: 1, filter: ${filter}) { id } }`),
    /costs 125001 points; at most 5000/,
  )
})

test('the number of relations in a filter is limited', () => {
  let filter: object = { id: { eq: '1' } }
  for (let i = 0; i < 20; i++) filter = { author: { posts: filter } }
  const source = 'query($f: PostFilter) { posts(filter: {or: [{not: $f}]}) { id } }'
  assert.match(refusalOf(source, { f: filter }), /follows 40 relations, one within another; at most 10/)
})

const searchable = createEngine({ model: checkModel(rich), run, hooks: new Map() })

test('the search terms and the text of `contains` are limited', () => {
  const source = 'query($s: String) { tasks(search: $s) { id } }'
  const words = (count: number) => times(count, at => `w${at}`)
  assert.equal(
    refusalOf(source, { s: words(33) }, searchable),
    'The search has 33 different words; at most 32 are allowed.',
  )
  assert.equal(
    refusalOf(`{ tasksConnection(search: "${'x'.repeat(501)}") { totalCount } }`, {}, searchable),
    'The search has 501 characters; at most 500 are allowed.',
  )
  assert.match(refusalOf(source, { s: words(200_000) }, searchable), /has 1488889 characters; at most 500/)
  for (const s of [words(32), 'again '.repeat(83), '😀'.repeat(500)]) {
    const prepared = searchable.prepare(source, undefined)
    assert.equal(prepared.outcome === 'prepared' && searchable.bind(prepared, { s }).outcome, 'bound', s)
  }
  const contains = 'query($s: String) { tasks(filter: {title: {contains: $s}}) { id } }'
  assert.equal(
    refusalOf(contains, { s: 'x'.repeat(501) }, searchable),
    'The text of "contains" has 501 characters; at most 500 are allowed.',
  )
})

test('the order by relevance requires a search, no other order, and forward paging', () => {
  const refused = (list: string) => refusalOf(`{ ${list} }`, {}, searchable)
  assert.equal(
    refused('tasks(orderBy: RELEVANCE) { id }'),
    'The order RELEVANCE is only possible in a search.',
  )
  assert.equal(
    refused('tasks(search: "x", orderBy: [RELEVANCE, TITLE_ASC]) { id }'),
    'The order RELEVANCE must be the only sort key.',
  )
  assert.equal(
    refused('tasksConnection(last: 1, search: "x", orderBy: RELEVANCE) { nodes { id } }'),
    'The order RELEVANCE allows only "first" and "after".',
  )
  assert.match(refused('users(orderBy: RELEVANCE) { id }'), /RELEVANCE.* does not exist/)
})

test('a search costs more for the rows that it scans', () => {
  const prepared = searchable.prepare('{ tasks(limit: 1, search: "x") { id } }', undefined)
  const bound = prepared.outcome === 'prepared' ? searchable.bind(prepared, undefined) : prepared
  assert.equal(bound.outcome === 'bound' && bound.cost, 51)
})

/** A selection that is valid for either type, nested. */
function within(levels: number): string {
  if (levels === 0) return '{ nodeId }'
  const inner = `{ ... on Node ${within(levels - 1)} }`
  return `{ nodeId ... on User { posts ${inner} } ... on Post { author ${inner} } }`
}

/** About 2,000 tokens each, with the most work of its kind. */
const longest: Readonly<Record<string, string>> = {
  'one field repeated': `{ me { ${'id '.repeat(1980)} } }`,
  'unknown fields': `{ me { ${times(1980, i => `x${i}`)} } }`,
  'fragments, each spread once': `{ me { ${times(190, i => `...F${i}`)} } } ${times(190, i => `fragment F${i} on User { id }`)}`,
  'fragments in a chain': `{ me { ...F0 } } ${times(200, i => `fragment F${i} on User { ...F${i + 1} }`)} fragment F200 on User { id }`,
  'unused fragments': `{ me { id } } ${times(270, i => `fragment F${i} on User { id }`)}`,
  'operations that share fragments': `${times(100, i => `query q${i} { me { ...F0 } }`)} ${times(100, i => `fragment F${i} on User { ...F${i + 1} }`)} fragment F100 on User { id }`,
  'operations with the same name': times(230, () => 'query q { me { id } }'),
  variables: `query(${times(150, i => `$v${i}: Int`)}) { me { ${times(90, i => `posts(limit: $v${i}) { id }`)} } }`,
  'arguments with the same name': `{ posts(${times(650, () => 'limit: 1')}) { id } }`,
  'unknown arguments': `{ posts(${times(650, i => `limitx${i}: 1`)}) { id } }`,
  'input fields with the same name': `{ posts(filter: {${times(280, () => 'id: {eq: 1}')}}) { id } }`,
  'lists that merge': `{ me { ${times(150, () => 'postsConnection(first: 1) { nodes { id } }')} } }`,
  'wide lists through aliases': `{ me { ${times(28, i => `a${i}: posts { ...F }`)} } } fragment F on Post { ${times(85, () => 'id title')} }`,
  'nested inline fragments': `{ me ${'{ ... on User '.repeat(390)}{ id }${' }'.repeat(390)} }`,
  'filters with many parts': `{ posts(filter: {or: [${times(200, i => `{id: {eq: "${i}"}}`)}]}) { id } }`,
  'fields of alternating types': `{ node(nodeId: "User:1") { ${times(150, () => '... on User { id name } ... on Post { id }')} } }`,
  'types within types': `{ node(nodeId: "User:1") ${within(6)} }`,
  'invalid enum values': `{ posts(orderBy: [${'ID_ASX '.repeat(1780)}]) { id } }`,
}

for (const [name, source] of Object.entries(longest)) {
  test(`handled within 50 ms of CPU time: ${name}`, () => {
    const took: number[] = []
    for (let round = 0; round < 7; round++) {
      const before = process.cpuUsage()
      const prepared = engine.prepare(`${source}#${round}`, undefined)
      if (prepared.outcome === 'prepared') engine.bind(prepared, undefined)
      else assert.doesNotMatch(prepared.text, /tokens/)
      const { user, system } = process.cpuUsage(before)
      took.push((user + system) / 1000)
    }
    // A few milliseconds are usual; quadratic work takes far more.
    assert.ok(Math.min(...took) < 50, `${took}`)
  })
}

test('variables are limited before they are coerced', () => {
  const source = 'query($f: PostFilter) { posts(filter: $f) { id } }'
  let deep: unknown = {}
  for (let i = 0; i < 100_000; i++) deep = { not: deep }
  assert.match(refusalOf(source, { f: deep }), /"\$f" has more than 80 levels/)
  const wide = { or: Array.from({ length: 100_000 }, () => ({})) }
  assert.match(refusalOf(source, { f: wide }), /"\$f" has more than 2000 values/)
  const many = { or: Array.from({ length: 101 }, () => ({ id: { eq: '1' } })) }
  assert.match(refusalOf(source, { f: many }), /more than 100 conditions/)
  const listed = { id: { in: Array.from({ length: 101 }, String) } }
  assert.match(refusalOf(source, { f: listed }), /"in" lists 101 values; at most 100/)
  assert.match(refusalOf(source, [1]), /"variables" must be a JSON object/)
  assert.match(refusalOf(source, 'x'), /"variables" must be a JSON object/)
})

test('an undeclared variable is ignored', () => {
  let deep: unknown = {}
  for (let i = 0; i < 100_000; i++) deep = { not: deep }
  assert.equal(costOf('query($n: Int) { posts(limit: $n) { id } }', { n: 1, other: deep }), 1)
})

test('a quoted part of a document is truncated in errors', () => {
  const message = refusalOf(`{ ${'x'.repeat(90_000)} }`)
  assert.ok(message.length <= 501, `${message.length} characters`)
})

test('the document cache is limited, and keeps documents that are used again', () => {
  // Capacity for 2,500 tokens: each document takes about 28, and two generations are kept.
  const few = createEngine({ model: checkModel(blog), run, hooks: new Map(), limits: { tokens: 50 } })
  const prepared = (at: number) => few.prepare(`{ me { id } } #${at}`, undefined)
  const first = prepared(0)
  assert.equal(prepared(0), first)
  for (let at = 1; at < 60; at++) prepared(at)
  assert.equal(prepared(0), first)
  const second = prepared(1)
  for (let at = 60; at < 600; at++) {
    prepared(at)
    if (at % 50 === 0) assert.equal(prepared(1), second)
  }
  assert.notEqual(prepared(0), first)
})

/** The number of 400 documents, bound with these variables, that an engine with a small cache still holds. */
function countCached(make: (at: number) => string, variables: readonly unknown[] = []): number {
  const few = createEngine({ model: checkModel(blog), run, hooks: new Map(), limits: { tokens: 60 } })
  const prepare = (at: number) => {
    const prepared = few.prepare(make(at), undefined)
    if (prepared.outcome !== 'prepared') assert.fail(prepared.text)
    return prepared
  }
  const created = times400.map(at => {
    const prepared = prepare(at)
    for (const values of variables) assert.equal(few.bind(prepared, values).outcome, 'bound')
    return prepared
  })
  const forgotten = times400.findLastIndex(at => prepare(at) !== created[at])
  return created.length - 1 - forgotten
}

const times400 = Array.from({ length: 400 }, (_, at) => at)

test('long texts and plans for variables of many shapes count towards the document cache', () => {
  const short = (at: number) => `query($f: UserFilter) { users(limit: 1, filter: $f) { id } } #${at}`
  const forms = Array.from({ length: 16 }, (_, bits) => ({
    f: Object.fromEntries(
      ['id', 'name', 'email', 'role'].flatMap((name, bit) => ((bits >> bit) & 1 ? [[name, {}]] : [])),
    ),
  }))
  const known = countCached(short)
  assert.ok(known > 60 && known < 200, `${known}`)
  const long = countCached(at => `${short(at)}${'x'.repeat(2900)}`)
  assert.ok(long > 0 && long < known * 0.8, `${long} of ${known}`)
  const planned = countCached(short, forms)
  assert.ok(planned > 0 && planned < known / 4, `${planned} of ${known}`)
})

test('the limits are configurable', () => {
  const strict = createEngine({
    model: checkModel(blog),
    run,
    hooks: new Map(),
    limits: { depth: 2, aliases: 0, cost: 5, listBound: 5, tokens: 50 },
  })
  assert.match(refusalOf('{ me { posts { id } } }', undefined, strict), /3 levels of depth; at most 2/)
  assert.match(refusalOf('{ a: me { id } }', undefined, strict), /1 aliases; at most 0/)
  assert.match(refusalOf('{ posts(limit: 6) { id } }', undefined, strict), /from 0 to 5/)
  assert.match(refusalOf('{ posts(limit: 5) { id } me { id } }', undefined, strict), /6 points; at most 5/)
  assert.match(refusalOf(`{ ${times(60, () => '__typename')} }`, undefined, strict), /more than 50 tokens/)
})

test('many equal fields are merged in time, and differing ones are refused', () => {
  assert.equal(costOf(`{ me { ${'id '.repeat(1900)} } }`), 1)
  assert.match(
    refusalOf('{ me { a: id a: name } }'),
    /"a" conflict because "id" and "name" are different fields/,
  )
  assert.match(
    refusalOf('{ posts(limit: 1) { id } posts(limit: 2) { id } }'),
    /"posts" conflict because they have differing arguments/,
  )
  assert.match(
    refusalOf(
      '{ me { ...A ...B } } fragment A on User { posts { a: id } } fragment B on User { posts { a: title } }',
    ),
    /"a" conflict/,
  )
  assert.equal(costOf('{ posts(limit: 1) { id } posts(limit: 1) { title } }'), 1)
})
