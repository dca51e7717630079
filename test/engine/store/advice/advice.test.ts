/** The exact text of the adviser's advice on slow lists, and proof that following it makes them fast, on both databases. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createEngine } from '../../../../src/api/graphql/execute/create-engine.ts'
import { createRest } from '../../../../src/api/rest/rest.ts'
import type { Call } from '../../../../src/base/call.ts'
import { system, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { AnyGuardedRead } from '../../../../src/engine/plan/guarded.ts'
import type { Finding } from '../../../../src/engine/store/advice/findings.ts'
import { type SlowList, SlowLists } from '../../../../src/engine/store/advice/slow-lists.ts'
import { type ListUnit, unitsOf, windowOf } from '../../../../src/engine/store/advice/units.ts'
import { postgresPlan } from '../../../../src/engine/store/postgres/read/query-plan.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { createBySystem } from '../../../../src/identity/bootstrap.ts'
import {
  caller,
  collection,
  model as declareModel,
  email,
  field,
  index,
  nobody,
  owner,
  relation,
  users,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { Model } from '../../../../src/model/model.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { chosen, testOfOthers } from '../../../chosen.ts'
import { idempotencyOf } from '../../idempotency/of-store.ts'
import { failure } from '../contract.ts'
import { postgres, rowSecurityPostgres, sqlite, type TestDatabase } from '../databases.ts'
import { fill, modelWith, recommendedIndexes, slowCases } from './cases.ts'
import { visitedRows } from './visited.ts'

type Runnable = Pick<Store, 'read' | 'composite' | 'write' | 'transaction'>

/** Sends requests to a store without HTTP; each returns the body of the response. */
function asker(model: Model, store: Store, runnable: Runnable = store, principal = user(1, 'user', 'all')) {
  const run = createRun(createGuard(model), runnable)
  const idempotency = idempotencyOf(store, run)
  const rest = createRest({ model, run, hooks: new Map(), idempotency, baseUrl: undefined })
  const engine = createEngine({ model, run, hooks: new Map() })
  const get = async (url: string): Promise<string> => {
    const [path = '', query = ''] = `/api/v1${url}`.split('?')
    const fixed = { method: 'GET', headers: {}, address: '192.0.2.1', requestId: 'r', body: Buffer.alloc(0) }
    const call: Call = { ...fixed, url, path, query }
    const { status, body } = await rest(call, principal)
    assert.equal(status, 200, String(body))
    return String(body)
  }
  const graphql = async (source: string): Promise<string> => {
    const prepared = engine.prepare(source, undefined)
    assert.ok(prepared.outcome === 'prepared', 'text' in prepared ? prepared.text : '')
    const bound = engine.bind(prepared, undefined)
    assert.ok(bound.outcome === 'bound', 'text' in bound ? bound.text : '')
    const context = { rateLimit: undefined, onFault: (error: unknown) => assert.fail(String(error)) }
    const { text } = await engine.execute(bound, principal, context)
    return text
  }
  return async (request: string): Promise<string> => {
    await store.refresh()
    return /^[{m]/.test(request) ? graphql(request) : get(request)
  }
}

async function until<T>(found: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 12_000; tries++) {
    const value = found()
    if (value !== undefined) return value
    await wait(10)
  }
  throw new Error('no slow list was reported')
}

async function reportsAll(database: TestDatabase): Promise<void> {
  const reported: SlowList[] = []
  const model = modelWith()
  const store = await database.open(model, { queries: { onSlow: slow => reported.push(slow) } })
  const ask = asker(model, store)
  for (const { ask: query, request, advice } of slowCases) {
    await ask(query)
    const slow = await until(() => reported.shift())
    assert.deepEqual([slow.request, slow.advice], [request, advice])
    assert.ok(slow.scannedRows >= 1000, `${request}: ${slow.scannedRows}`)
  }
  const [first] = slowCases
  assert.ok(first)
  // A list is reported once, and a fast list never. The last request proves that the ones before it were examined.
  for (const fast of [
    first.ask,
    '/posts',
    '/posts?status=open',
    '/posts?id[in]=1,2,3&sort=title',
    '/posts?source[contains]=s',
  ])
    await ask(fast)
  await ask('/posts?sort=-source')
  assert.equal((await until(() => reported.shift())).request, 'GET /posts?sort=-source')
  // A search sorted by rank also visits every match.
  await ask('/posts?q=title&sort=-q')
  assert.match((await until(() => reported.shift())).request, /^GET \/posts\?q=…&sort=-q$/)
  assert.deepEqual(reported, [])
  const taken = store.queries?.takeSlow() ?? []
  const requests = [
    ...slowCases.map(({ request }) => request),
    'GET /posts?sort=-source',
    'GET /posts?q=…&sort=-q',
  ]
  assert.deepEqual(taken.map(({ request }) => request).toSorted(), requests.toSorted())
  const often = taken.flatMap(({ request, runs }) => (runs === 1 ? [] : [[request, runs]]))
  assert.deepEqual(often, [['GET /posts?status=…', 2]])
  assert.deepEqual(store.queries?.takeSlow(), [])
  await store.close()
}

/** The lists of the last read. */
interface LastRead {
  readonly units: readonly ListUnit[]
  readonly args: readonly JsonValue[]
}

function watched(store: Store): { readonly runnable: Runnable; readonly last: () => LastRead } {
  let last: LastRead = { units: [], args: [] }
  const note = ({ shape, args }: AnyGuardedRead): void => {
    last = { units: unitsOf(shape, args.length, Infinity), args: [...args, 1] }
  }
  const runnable: Runnable = {
    read(plan) {
      note(plan)
      return store.read(plan)
    },
    composite(plan) {
      note(plan)
      return store.composite(plan)
    },
    write: plan => store.write(plan),
    transaction: program => store.transaction(program),
  }
  return { runnable, last: () => last }
}

async function fastOnceFollowed(database: TestDatabase): Promise<void> {
  const reported: SlowList[] = []
  const model = modelWith(recommendedIndexes)
  const store = await database.open(model, { queries: { onSlow: slow => reported.push(slow) } })
  await database.run('ANALYZE')
  const { runnable, last } = watched(store)
  const ask = asker(model, store, runnable)
  for (const { ask: query, alternative = query, request } of slowCases) {
    if (alternative === null) continue
    await ask(alternative)
    const { units, args } = last()
    for (const unit of units) {
      const { limit } = windowOf(unit.list, args)
      const rows = await visitedRows(database, unit, args)
      assert.ok(rows <= 5 * limit, `${request}: ${rows} rows for ${limit}`)
    }
  }
  await ask('/posts?sort=-note')
  assert.deepEqual((await until(() => reported.shift())).request, 'GET /posts?sort=-note')
  assert.deepEqual(reported, [])
  await store.close()
}

/** A range and an equality: an index on the range alone would also read the rows with other values of the equality. */
async function advisesOnRanges(database: TestDatabase): Promise<void> {
  const range = '/posts?status=open&score[gte]=100000'
  const reason = 'because one index cannot return a range in the order of ids.'
  for (const [indexes, advice] of [
    [
      [index('status')],
      `In collection \`posts\`, add \`index('status', 'score')\`, and request \`sort=score\`, ${reason}`,
    ],
    [[index('status', 'score')], `For \`posts\`, request \`sort=score\`, ${reason}`],
  ] as const) {
    const reported: SlowList[] = []
    const model = modelWith({ posts: indexes })
    const store = await database.open(model, { queries: { onSlow: slow => reported.push(slow) } })
    await database.run('ANALYZE')
    await asker(model, store)(range)
    assert.equal((await until(() => reported.shift())).advice, advice)
    await store.close()
  }
}

async function refusesBeyond(database: TestDatabase): Promise<void> {
  const reported: SlowList[] = []
  const model = modelWith()
  const store = await database.open(model, {
    queries: { maxScan: 1000, onSlow: slow => reported.push(slow) },
  })
  const ask = asker(model, store)
  await assert.rejects(ask('/posts?sort=title'), failure('SCAN_TOO_LARGE'))
  // The estimate counts rows that the client cannot read, so its message does not contain it.
  await assert.rejects(ask('/posts?sort=title'), ({ message }: Error) => {
    assert.match(
      message,
      /^The list \/posts\?sort=title would read more than 1000 rows, which is the limit\./,
    )
    return !message.includes('5000')
  })
  const reply = JSON.parse(await ask('{ posts(orderBy: [TITLE_ASC]) { id } }'))
  assert.equal(reply.errors[0].extensions.code, 'SCAN_TOO_LARGE')
  // However many lists precede it in the document.
  const cheap = Array.from({ length: 20 }, (_, at) => `a${at}: writers(limit: 1) { posts(limit: 1) { id } }`)
  const long = JSON.parse(await ask(`{ ${cheap.join(' ')} posts(orderBy: [TITLE_ASC]) { id } }`))
  assert.equal(long.errors?.[0].extensions.code, 'SCAN_TOO_LARGE')
  // The lists that a mutation selects are limited too; a refused mutation changes nothing.
  const moved = async (order: string) =>
    JSON.parse(
      await ask(`mutation { updateWriter(id: 1, city: "new") { posts(orderBy: [${order}]) { id } } }`),
    )
  assert.equal((await moved('TITLE_ASC')).errors?.[0].extensions.code, 'SCAN_TOO_LARGE')
  assert.match(await ask('/writers/1'), /"city":"c1"/)
  assert.equal((await moved('CREATED_AT_DESC')).errors, undefined)
  assert.match(await ask('/writers/1'), /"city":"new"/)
  // The limit applies to administrators too: their scans take just as long.
  const admin = asker(model, store, store, user(1, 'admin', 'all'))
  await assert.rejects(admin('/posts?sort=title'), failure('SCAN_TOO_LARGE'))
  // The limit does not apply to Portico's own reads, or to reads that visit few rows.
  await asker(model, store, store, system)('/posts?sort=title')
  for (const fast of ['/posts', '/posts?status=open', '/posts?id[in]=1,2&sort=title', '/posts?cursor='])
    await ask(fast)
  await assert.rejects(ask('/posts?page=200'), failure('SCAN_TOO_LARGE'))
  assert.equal(reported[0]?.isRefused, true)
  assert.equal(reported[0]?.index, "index('title')")
  await store.close()
}

const counter = (runs: number) => ({ runs })

function finding(at: number, looked = 5000): Finding {
  const estimate = {
    most: looked,
    expected: looked,
    expectedOnce: 0,
    bounded: false,
    walks: false,
    sorts: 'all',
    searches: false,
  } as const
  const path = `/posts?sort=f${at}`
  const advice = [{ sentence: `Add an index on f${at}.` }]
  return {
    path,
    isDeep: false,
    estimate,
    scannedRows: looked,
    limit: 20,
    returnedRows: 20,
    summary: 'scans',
    indexes: [],
    advice,
  }
}

test('at most 500 slow lists are kept, the cheapest is evicted first, and a list that visits few rows is not slow', () => {
  const slow = new SlowLists()
  for (const few of [finding(0, 999), { ...finding(0, 1000), limit: 250 }]) {
    assert.equal(slow.record(few, 'GET', counter(1)), undefined)
  }
  for (let at = 0; at < 500; at++) assert.ok(slow.record(finding(at, 5000 + at), 'GET', counter(1)))
  assert.equal(slow.record(finding(500, 4000), 'GET', counter(1)), undefined)
  assert.ok(slow.record(finding(501, 9000), 'GET', counter(1)))
  const requests = slow.take().map(({ request }) => request)
  assert.equal(requests.length, 500)
  assert.ok(requests.includes('GET /posts?sort=f501') && !requests.includes('GET /posts?sort=f0'))
  assert.deepEqual(slow.take(), [])
})

test('the runs of one list are summed over its shapes, and each run is reported once', () => {
  const slow = new SlowLists()
  const shapes = [counter(1), counter(1)]
  for (const shape of shapes) slow.record(finding(1), 'GET', shape)
  const [first] = shapes
  assert.ok(first)
  first.runs = 5
  assert.deepEqual(
    slow.take().map(({ runs }) => runs),
    [6],
  )
  first.runs = 7
  slow.record(finding(1), 'GET', first)
  assert.deepEqual(
    slow.take().map(({ runs }) => runs),
    [2],
  )
})

const scan = (alias: string, more = {}) => ({
  'Node Type': 'Seq Scan',
  'Relation Name': 'posts',
  Alias: alias,
  ...more,
})
const stepsOf = (Plan: object) => postgresPlan(JSON.stringify([{ Plan }])).steps
const detailsOf = (Plan: object) => stepsOf(Plan).map(({ kind, detail }) => [kind, detail])

test('joins, sorts and subplans of a PostgreSQL plan become steps, and an unknown node becomes an unknown step', () => {
  const lookUp = {
    'Node Type': 'Index Scan',
    'Relation Name': 'users',
    Alias: 't1',
    'Index Name': 'users_pkey',
    'Index Cond': `((id = t0.author_id) AND (ROW(created_at, id) < ROW('x = y'::text, '3'::bigint)) AND (role IS NULL))`,
  }
  const [outer, inner] = stepsOf({
    'Node Type': 'Nested Loop',
    'Join Type': 'Semi',
    Plans: [scan('t0'), lookUp],
  })
  assert.deepEqual(outer?.kind === 'access' && [outer.access, outer.table, outer.exists], [
    'scan',
    't0',
    false,
  ])
  assert.deepEqual(inner?.kind === 'access' && [inner.access, inner.equal, inner.ranged, inner.exists], [
    'search',
    ['id', 'role'],
    ['created_at', 'id'],
    true,
  ])
  const sorted = { 'Sort Key': ['a', 'b', 'id'], 'Presorted Key': ['a'], Plans: [scan('t0')] }
  const [, tree] = stepsOf({ 'Node Type': 'Incremental Sort', ...sorted })
  assert.equal(tree?.kind === 'tree' && tree.lastTerms, 2)
  const hash = { 'Node Type': 'Hash', Plans: [scan('t1')] }
  const joined = { 'Node Type': 'Hash Join', Plans: [scan('t0'), hash] }
  assert.deepEqual(detailsOf({ 'Node Type': 'Limit', Plans: [joined] }), [
    ['access', 'Seq Scan t0'],
    ['block', 'branch'],
  ])
  const subplan = { ...scan('t2'), 'Parent Relationship': 'SubPlan', 'Subplan Name': 'SubPlan 1' }
  const [, block] = stepsOf(scan('t0', { Plans: [subplan], Filter: '(SubPlan 1)' }))
  assert.equal(block?.kind === 'block' && block.correlated, true)
  const [, hashed] = stepsOf(scan('t0', { Plans: [subplan], Filter: '(hashed SubPlan 1)' }))
  assert.equal(hashed?.kind === 'block' && hashed.correlated, false)
  assert.deepEqual(detailsOf({ 'Node Type': 'Something New' }), [['unknown', 'Something New']])
  assert.deepEqual(
    postgresPlan('{}').steps.map(({ kind }) => kind),
    ['unknown'],
  )
})

// Under row security, a statement on another connection sees no rows, so the visited rows cannot be counted.
testOfOthers('PostgreSQL with row security: a list that would visit more rows than maxScan is refused', () =>
  rowSecurityPostgres.within(async database => {
    await (await database.open(modelWith({}, false))).close()
    await fill(rowSecurityPostgres, database)
    await refusesBeyond(database)
  }),
)

/** A rule that reads the caller's own fields, and one that an index serves. */
const addressed = checkModel(
  declareModel({
    users: users({}),
    invitations: collection({
      fields: { email: email(), inviter_id: relation('users') },
      access: {
        read: owner('inviter_id').or(field('email').eq(caller('email'))),
        create: nobody,
        update: nobody,
        delete: nobody,
      },
    }),
  }),
)

test("a rule about the caller's own fields does not make the list of a small table slow", () =>
  sqlite.within(async database => {
    const reported: SlowList[] = []
    const store = await database.open(addressed, { queries: { onSlow: slow => reported.push(slow) } })
    const run = createRun(createGuard(addressed), store)
    const signUp = (name: string) => createBySystem(run, 'users', { name, email: `${name}@example.com` }, {})
    const inviter_id = await signUp('ida')
    await createBySystem(run, 'invitations', { email: 'guest@example.com', inviter_id }, {})
    const ask = asker(addressed, store, store, user(inviter_id, 'user', 'all'))
    await ask('/invitations')
    await Promise.all(Array.from({ length: 1500 }, (_, at) => signUp(`user${at}`)))
    // Lists are examined in the order of their requests.
    await ask('/users?sort=name')
    await until(() => reported.find(({ request }) => request.includes('/users')))
    assert.deepEqual(
      reported.map(({ request }) => request),
      ['GET /users?sort=name'],
    )
    await store.close()
  }))

for (const databaseKind of chosen([sqlite, postgres])) {
  test(`${databaseKind.name}: each slow list gets the right advice, visits few rows once the advice is followed, and is refused above maxScan`, () =>
    databaseKind.within(async database => {
      await (await database.open(modelWith({}, false))).close()
      await fill(databaseKind, database)
      await reportsAll(database)
      await refusesBeyond(database)
      await advisesOnRanges(database)
      await fastOnceFollowed(database)
    }))
}
