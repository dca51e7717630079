/** REST and GraphQL on one store, with the decisions of the guard on the plan that each of them made. */
import assert from 'node:assert/strict'
import { createEngine } from '../../../../src/api/graphql/execute/create-engine.ts'
import { createRest } from '../../../../src/api/rest/rest.ts'
import type { Call } from '../../../../src/base/call.ts'
import { ApiError } from '../../../../src/base/errors.ts'
import { type Principal, system, user } from '../../../../src/base/principal.ts'
import { conditionKey } from '../../../../src/engine/plan/condition.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type {
  GuardedItemRoot,
  GuardedList,
  GuardedRelation,
  GuardedSelected,
  GuardedSelectedList,
} from '../../../../src/engine/plan/guarded.ts'
import type { Condition, GuardedSort } from '../../../../src/engine/plan/guarded-conditions.ts'
import type { CompositeShape, ItemShape, ListShape, Plan } from '../../../../src/engine/plan/plan.ts'
import type { Run } from '../../../../src/engine/plan/run.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { idempotencyOf } from '../../../engine/idempotency/of-store.ts'
import rich from '../../../models/rich.ts'
import { type databaseKinds, openStore } from '../rest/databases.ts'

type AnyPlan = Plan<ItemShape> | Plan<ListShape> | Plan<CompositeShape>
type Args = readonly JsonValue[]

/** The GraphQL response to a document whose field is called `answer`. */
export interface Reply {
  readonly answer: JsonValue
  readonly codes: readonly string[]
}

/** The REST response: an item, a list, or an error. */
export type Body = { readonly [name: string]: JsonValue } & {
  readonly data?: readonly JsonValue[]
  readonly meta?: { readonly total?: number; readonly next_cursor?: string | null }
  readonly error?: { readonly code: string }
}

export interface Transports {
  /** The body; for a refusal `{"error":{"code":…}}`. */
  byRest(url: string, who: Principal): Promise<Body>
  byGraphql(source: string, who: Principal, variables?: object): Promise<Reply>
  /** The decisions of the guard on the last read. Each read can be inspected once. */
  decisions(who: Principal): Decisions
  close(): Promise<void>
}

export const callers: readonly (readonly [name: string, who: Principal])[] = [
  ['an administrator', user(1, 'admin', 'all')],
  ['a member', user(2, 'user', 'all')],
  ['another user', user(3, 'user', 'all')],
  ['a program with scopes', user(2, 'user', new Set(['read:user', 'write:project', 'read:membership']))],
]

const model = checkModel(rich)
const guard = createGuard(model)

// --- the decisions of the guard, in a comparable form

export interface Decisions {
  readonly collection: string
  /** Set for a list that belongs to an item. */
  readonly within: unknown
  readonly rows: string
  readonly sort: unknown
  /** The page; undefined for numbered pages. */
  readonly page: unknown
  readonly select: unknown
  readonly reads: readonly string[]
  readonly personal: boolean
}

function describeCondition(condition: Condition, args: Args): string {
  return conditionKey(condition).replaceAll(/\$(\d+)/g, (_, param) => JSON.stringify(args[Number(param)]))
}

function describeSelect(select: readonly GuardedSelected[], args: Args): unknown {
  return select.map(selection => {
    if (selection.kind === 'constant') return selection.value
    if (selection.kind === 'field')
      return [selection.field.field.name, describeCondition(selection.field.when, args)]
    const { path, rows, when, list } = selection
    const inner = describeSelect(selection.select, args)
    const order = list && [describeSort(list.sort), sizeOf(list, args)]
    return [path.relation.name, describeCondition(rows, args), describeCondition(when, args), order, inner]
  })
}

function describeSort(sort: readonly GuardedSort[]): unknown {
  return sort.map(({ field, descending }) => [field.field.name, descending])
}

/** A connection requests one row more than it returns. */
function sizeOf({ limit, connection }: GuardedSelectedList, args: Args): number {
  return Number(args[limit]) - (connection ? 1 : 0)
}

function describePage(after: readonly number[] | undefined, size: number, args: Args): unknown {
  return { after: after?.map(param => args[param]), size }
}

function describeWithin(
  { collection, rows }: Pick<GuardedItemRoot, 'collection' | 'rows'>,
  path: GuardedRelation['path'],
  args: Args,
): unknown {
  const joined = 'joinRows' in path ? describeCondition(path.joinRows, args) : undefined
  return [collection.name, describeCondition(rows, args), path.relation.name, joined]
}

function ofList(shape: GuardedList, args: Args): Omit<Decisions, 'reads' | 'personal'> {
  const { collection, within, rows, sort, window, select } = shape
  const page =
    window.kind === 'cursor' ? describePage(window.after, Number(args[window.limit]), args) : undefined
  return {
    collection: collection.name,
    within: within && describeWithin(within, within.path, args),
    rows: describeCondition(rows, args),
    sort: describeSort(sort),
    page,
    select: describeSelect(select, args),
  }
}

/** A connection of an item is compared with the related list of REST. */
function ofConnectionWithin(
  root: GuardedItemRoot,
  args: Args,
): Omit<Decisions, 'reads' | 'personal'> | undefined {
  const [only, ...others] = root.select
  if (only?.kind !== 'relation' || !only.list?.connection || others.length > 0) return undefined
  const { path, rows, list, select } = only
  return {
    collection: path.target.name,
    within: describeWithin(root, path, args),
    rows: describeCondition(rows, args),
    sort: describeSort(list.sort),
    page: describePage(list.after, sizeOf(list, args), args),
    select: describeSelect(select, args),
  }
}

function ofComposite(plan: Plan<CompositeShape>, who: Principal): Decisions {
  const { args } = plan
  const { roots, refusals, reads, personal } = guard(plan, who).shape
  assert.deepEqual(refusals, [])
  const [root] = roots
  if (!root || roots.length !== 1) throw new Error('a composite with one root is compared')
  const inner = root.kind === 'item' ? ofConnectionWithin(root, args) : undefined
  if (inner) return { ...inner, reads, personal }
  const list = root.kind === 'list' ? root.list : undefined
  return {
    collection: root.collection.name,
    within: undefined,
    rows: describeCondition(root.rows, args),
    sort: list && describeSort(list.sort),
    page: list?.connection && describePage(list.after, sizeOf(list, args), args),
    select: root.kind === 'aggregate' ? root.aggregation : describeSelect(root.select, args),
    reads,
    personal,
  }
}

function decisionsOf(plan: AnyPlan, who: Principal): Decisions {
  const { shape, args } = plan
  if (shape.kind === 'composite') return ofComposite({ shape, args }, who)
  if (shape.kind === 'list') {
    const guarded = guard({ shape, args }, who).shape
    return { ...ofList(guarded, args), reads: guarded.reads, personal: guarded.personal }
  }
  const { collection, rows, select, reads, personal } = guard({ shape, args }, who).shape
  return {
    collection: collection.name,
    within: undefined,
    rows: describeCondition(rows, args),
    sort: undefined,
    page: undefined,
    select: describeSelect(select, args),
    reads,
    personal,
  }
}

// --- the two transports

/** GraphQL data in the form of REST: snake_case, ids as numbers, choices as stored. */
export function inRestForm(value: JsonValue, key = ''): JsonValue {
  if (Array.isArray(value)) return value.map(item => inRestForm(item))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => {
        const plain = name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
        return [plain, plain === 'settings' ? part : inRestForm(part, plain)]
      }),
    )
  }
  if ((key === 'id' || key.endsWith('_id')) && typeof value === 'string') return Number(value)
  const isChoice = /(?:^|_)(?:visibility|state)$/.test(key)
  return isChoice && typeof value === 'string' ? value.toLowerCase() : value
}

async function fill(run: Run): Promise<void> {
  const create = async (collection: string, values: Readonly<Record<string, JsonValue>>) => {
    const set = Object.keys(values).map((field, param) => ({ field, param }))
    const shape = { kind: 'create', collection, set, computed: [], select: [] } as const
    await run.write({ shape, args: Object.values(values) }, system)
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
  const texts = [['Buy stones', 'Grey ones'], ['Grey'], ['Other'], ['Grey', 'With grey notes']]
  for (const [title = '', notes = null] of texts) {
    await create('tasks', { title, notes, project_id: 1 })
  }
}

export async function openTransports(kind: (typeof databaseKinds)[number]): Promise<Transports> {
  const opening = await openStore(kind, model)
  const plain = createRun(guard, opening.store)
  let lastPlan: AnyPlan | undefined
  const note = <P extends AnyPlan, A>(ask: (plan: P, who: Principal) => A) => {
    return (plan: P, who: Principal): A => {
      lastPlan = plan
      return ask(plan, who)
    }
  }
  const run = { ...plain, item: note(plain.item), list: note(plain.list), composite: note(plain.composite) }
  const idempotency = idempotencyOf(opening.store, run)
  const rest = createRest({ model, run, hooks: new Map(), idempotency, baseUrl: 'http://localhost' })
  const engine = createEngine({ model, run, hooks: new Map() })
  await fill(plain)
  return {
    async byRest(url, who) {
      const [path = '', query = ''] = url.split('?')
      const fixed = {
        method: 'GET',
        headers: {},
        address: '192.0.2.1',
        requestId: 'r',
        body: Buffer.alloc(0),
      }
      const call: Call = { ...fixed, url, path, query }
      try {
        return JSON.parse(String((await rest(call, who)).body))
      } catch (error) {
        if (error instanceof ApiError) return { error: { code: error.code } }
        throw error
      }
    },
    async byGraphql(source, who, variables) {
      const prepared = engine.prepare(source, undefined)
      if (prepared.outcome === 'request error') assert.fail(prepared.text)
      const bound = engine.bind(prepared, variables)
      if (bound.outcome === 'request error') assert.fail(bound.text)
      const { text } = await engine.execute(bound, who, { rateLimit: undefined, onFault: assert.ifError })
      const { data, errors = [] } = JSON.parse(text)
      const codes = errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)
      return { answer: data?.answer ?? null, codes }
    },
    decisions(who) {
      const plan = lastPlan
      lastPlan = undefined
      if (!plan) throw new Error('there was no read')
      return decisionsOf(plan, who)
    },
    close: () => opening.close(),
  }
}
