/** One question, asked through REST and through GraphQL: equal data, and the same decisions of the guard. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Call } from '../../../src/call.ts'
import { createEngine } from '../../../src/graphql/create-engine.ts'
import { checkModel } from '../../../src/model/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { conditionKey } from '../../../src/plan/condition.ts'
import { createGuard } from '../../../src/plan/guard.ts'
import type { Condition, GuardedSelected, GuardedSort } from '../../../src/plan/guarded.ts'
import type { CompositeShape, ItemShape, ListShape, Plan } from '../../../src/plan/plan.ts'
import type { Run } from '../../../src/plan/run.ts'
import { anonymous, type Principal, system, user } from '../../../src/principal.ts'
import { createRest } from '../../../src/rest/rest.ts'
import { createRun } from '../../../src/serve/store.ts'
import rich from '../../models/rich.ts'
import { kinds, openStore } from '../rest/databases.ts'

const model = checkModel(rich)
const guard = createGuard(model)

type AnyPlan = Plan<ItemShape> | Plan<ListShape> | Plan<CompositeShape>

let opened: Awaited<ReturnType<typeof openStore>>
/** What was asked of the run last. */
let asked: AnyPlan | undefined
let run: Run
let rest: ReturnType<typeof createRest>
let engine: ReturnType<typeof createEngine>

// --- the two faces

async function byRest(url: string, who: Principal): Promise<JsonValue> {
  const [path = '', query = ''] = url.split('?')
  const call: Call = {
    method: 'GET',
    url,
    path,
    query,
    headers: {},
    address: '192.0.2.1',
    requestId: 'r',
    body: Buffer.alloc(0),
  }
  const { body } = await rest(call, who)
  const answer = JSON.parse(String(body))
  return answer.data ?? answer
}

async function byGraphql(source: string, who: Principal): Promise<JsonValue> {
  const prepared = engine.prepare(source, undefined)
  if (prepared.outcome === 'request error') assert.fail(prepared.text)
  const bound = engine.bind(prepared, undefined)
  if (bound.outcome === 'request error') assert.fail(bound.text)
  const context = { rateLimit: undefined, onFault: assert.ifError }
  const { text } = await engine.execute(bound, who, context)
  const { data, errors } = JSON.parse(text)
  assert.equal(errors, undefined, text)
  return data.answer
}

/** GraphQL's answer in REST's words: snake_case, ids as numbers, choices as they are stored. */
function inRestWords(value: JsonValue, key = ''): JsonValue {
  if (Array.isArray(value)) return value.map(item => inRestWords(item))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => {
        const plain = name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
        return [plain, plain === 'settings' ? part : inRestWords(part, plain)]
      }),
    )
  }
  if ((key === 'id' || key.endsWith('_id')) && typeof value === 'string') return Number(value)
  return key === 'visibility' && typeof value === 'string' ? value.toLowerCase() : value
}

// --- what the guard decided, in words

function told(condition: Condition, args: readonly JsonValue[]): string {
  return conditionKey(condition).replaceAll(/\$(\d+)/g, (_, param) => JSON.stringify(args[Number(param)]))
}

function toldSelect(select: readonly GuardedSelected[], args: readonly JsonValue[]): unknown {
  return select.map(one => {
    if (one.kind === 'constant') return one.value
    if (one.kind === 'field') return [one.field.field.name, told(one.field.when, args)]
    const { path, rows, when, list } = one
    const inner = toldSelect(one.select, args)
    const order = list && [toldSort(list.sort), args[list.limit]]
    return [path.relation.name, told(rows, args), told(when, args), order, inner]
  })
}

function toldSort(sort: readonly GuardedSort[]): unknown {
  return sort.map(({ field, descending }) => [field.field.name, descending])
}

/** The decisions over the only read that was asked for. */
function decisions(who: Principal): unknown {
  const plan = asked
  if (!plan) throw new Error('nothing was asked')
  const { args } = plan
  if (plan.shape.kind === 'composite') {
    const { shape } = guard(plan as Plan<CompositeShape>, who)
    assert.deepEqual(shape.refusals, [])
    const [root] = shape.roots
    if (!root || shape.roots.length !== 1) throw new Error('one root is compared')
    const sort = root.kind === 'list' ? toldSort(root.list.sort) : undefined
    const { collection, rows, select } = root
    return [collection.name, told(rows, args), sort, toldSelect(select, args), shape.reads, shape.personal]
  }
  const { shape } = guard(plan as Plan<ListShape>, who)
  const sort = plan.shape.kind === 'list' ? toldSort(shape.sort) : undefined
  const { collection, rows, select } = shape
  return [collection.name, told(rows, args), sort, toldSelect(select, args), shape.reads, shape.personal]
}

interface Question {
  readonly rest: string
  readonly graphql: string
}

const projectFields = 'id name slug ownerId visibility settings code createdAt updatedAt'
const userFields = 'id name email role bio phone managerId createdAt updatedAt'

const questions: readonly Question[] = [
  {
    rest: '/api/v1/projects/1?fields=id,name,slug',
    graphql: '{ answer: project(id: 1) { id name slug } }',
  },
  {
    rest: '/api/v1/projects?fields=id,name,slug,owner_id,visibility,settings,code,created_at,updated_at',
    graphql: `{ answer: projects(limit: 20) { ${projectFields} } }`,
  },
  {
    rest: '/api/v1/projects?owner_id=2&sort=-name&fields=id,name',
    graphql:
      '{ answer: projects(limit: 20, filter: { ownerId: { eq: 2 } }, orderBy: NAME_DESC) { id name } }',
  },
  {
    rest: '/api/v1/projects?name[contains]=2&visibility[in]=open,members&fields=id,name,visibility',
    graphql:
      '{ answer: projects(limit: 20, filter: { name: { contains: "2" }, visibility: { in: [OPEN, MEMBERS] } }) { id name visibility } }',
  },
  {
    rest: '/api/v1/users?fields=id,name,phone&sort=email',
    graphql: '{ answer: users(limit: 20, orderBy: EMAIL_ASC) { id name phone } }',
  },
  {
    rest: '/api/v1/projects?fields=id&include=owner',
    graphql: `{ answer: projects(limit: 20) { id owner { ${userFields} } } }`,
  },
  {
    rest: '/api/v1/users/2?fields=id&include=manager',
    graphql: `{ answer: user(id: 2) { id manager { ${userFields} } } }`,
  },
  {
    rest: '/api/v1/users/1?fields=id,name&include=reports',
    graphql: `{ answer: user(id: 1) { id name reports(limit: 100) { ${userFields} } } }`,
  },
]

const callers: readonly (readonly [name: string, who: Principal])[] = [
  ['an administrator', user(1, 'admin', 'all')],
  ['a member', user(2, 'user', 'all')],
  ['another user', user(3, 'user', 'all')],
  ['a program with scopes', user(2, 'user', new Set(['read:user', 'write:project', 'read:membership']))],
]

for (const kind of kinds) {
  suite(kind.name, () => {
    before(async () => {
      opened = await openStore(kind, model)
      const plain = createRun(guard, opened.store)
      const note = <P extends AnyPlan, A>(ask: (plan: P, who: Principal) => A) => {
        return (plan: P, who: Principal): A => {
          asked = plan
          return ask(plan, who)
        }
      }
      run = { ...plain, item: note(plain.item), list: note(plain.list), composite: note(plain.composite) }
      rest = createRest({ model, run, hooks: new Map(), baseUrl: 'http://localhost' })
      engine = createEngine({ model, run, hooks: new Map() })
      const create = async (collection: string, values: Readonly<Record<string, JsonValue>>) => {
        const set = Object.keys(values).map((field, param) => ({ field, param }))
        const shape = { kind: 'create', collection, set, computed: [], select: [] } as const
        await plain.write({ shape, args: Object.values(values) }, system)
      }
      await create('users', { name: 'Ada', email: 'ada@example.org', role: 'admin', phone: '+1 2' })
      await create('users', { name: 'Ben', email: 'ben@example.org', phone: '+3 4', manager_id: 1 })
      await create('users', { name: 'Cy', email: 'cy@example.org', manager_id: 2 })
      for (let i = 1; i <= 4; i++) {
        const visibility = i % 2 === 0 ? 'members' : 'open'
        const values = {
          name: `Project ${i}`,
          slug: `project-${i}`,
          owner_id: 1 + (i % 3),
          visibility,
          budget: i,
        }
        await create('projects', values)
      }
      await create('memberships', { project_id: 2, user_id: 2 })
      await create('memberships', { project_id: 1, user_id: 3 })
    })

    after(async () => {
      await opened.close()
    })

    for (const { rest: url, graphql } of questions) {
      for (const [name, who] of callers) {
        test(`${name} asks ${url}`, async () => {
          const expected = await byRest(url, who)
          const decided = decisions(who)
          asked = undefined
          const got = await byGraphql(graphql, who)
          assert.deepEqual(inRestWords(got), expected)
          assert.deepEqual(decisions(who), decided)
        })
      }
    }

    test('what REST refuses to who has no credential, GraphQL refuses with the same code', async () => {
      const nobody = anonymous('192.0.2.1')
      const rows = [
        ['/api/v1/users/1', '{ user(id: 1) { id } }'],
        ['/api/v1/memberships', '{ memberships { id } }'],
      ] as const
      for (const [url, source] of rows) {
        const { error } = (await byRest(url, nobody).catch(({ code }) => ({ error: { code } }))) as {
          error: { code: string }
        }
        const prepared = engine.prepare(source, undefined)
        if (prepared.outcome === 'request error') assert.fail(prepared.text)
        const bound = engine.bind(prepared, undefined)
        if (bound.outcome === 'request error') assert.fail(bound.text)
        const { text } = await engine.execute(bound, nobody, {
          rateLimit: undefined,
          onFault: assert.ifError,
        })
        assert.equal(JSON.parse(text).errors[0].extensions.code, error.code, source)
        assert.match(error.code, /^[A-Z_]+$/)
      }
    })
  })
}
