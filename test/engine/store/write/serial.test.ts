/**
 * Serial transactions and concurrent single writes from two nodes: their results and the final state equal those of
 * some sequential order.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { user } from '../../../../src/base/principal.ts'
import type { ListAnswer } from '../../../../src/engine/plan/answer.ts'
import { orderById } from '../../../../src/engine/plan/order.ts'
import type { ListShape, Plan, ReadShape, WriteShape } from '../../../../src/engine/plan/plan.ts'
import type { CollectionUses, StepAnswer, StepOf } from '../../../../src/engine/plan/transaction.ts'
import { anyone, collection, field, integer, model, related, relation } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { cases } from '../../../cases.ts'
import { Client, fields, parsed } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

/** `doors` can be changed only while their wall is low: a rule on another collection. */
const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const low = related('wall', field('value').lt(50))
const house = checkModel(
  model({
    walls: collection({ fields: { run: integer(), value: integer() }, access }),
    doors: collection({
      fields: { run: integer(), value: integer(), wall_id: relation('walls') },
      access: { ...access, update: low },
    }),
  }),
)

type Kind = 'walls' | 'doors'

interface State {
  readonly walls: readonly number[]
  readonly doors: readonly number[]
}

/** An operation on a state: returns the next state and the result. */
type Reference = (state: State) => readonly [State, string]

type Operation =
  /** Reads a whole collection and sets an item of the other to the sum: two of these can cause a write skew. */
  | { readonly kind: 'sum'; readonly from: Kind; readonly at: 0 | 1 }
  /** Adds an item if there are fewer than four: two of these can cause a phantom. */
  | { readonly kind: 'add'; readonly to: Kind; readonly value: number }
  /** A single write. */
  | { readonly kind: 'set'; readonly to: Kind; readonly at: 0 | 1; readonly value: number }

const otherOf = { walls: 'doors', doors: 'walls' } as const

const maxItems = 4
const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

/** All doors belong to the first wall. */
function isOpen({ walls }: State): boolean {
  return (walls[0] ?? 0) < 50
}

function changed(state: State, to: Kind, at: number, value: number): readonly [State, string] {
  if (to === 'doors' && !isOpen(state)) return [state, 'FORBIDDEN']
  return [{ ...state, [to]: state[to].with(at, value) }, 'done']
}

function referenceOf(operation: Operation): Reference {
  switch (operation.kind) {
    case 'sum':
      return state => {
        const sum = sumOf(state[operation.from])
        const [after, result] = changed(state, otherOf[operation.from], operation.at, sum + 1)
        return [after, result === 'done' ? `sum ${sum}` : result]
      }
    case 'add':
      return state => {
        const { length } = state[operation.to]
        if (length >= maxItems) return [state, 'full']
        return [{ ...state, [operation.to]: [...state[operation.to], operation.value] }, `after ${length}`]
      }
    case 'set':
      return state => changed(state, operation.to, operation.at, operation.value)
  }
}

function usesOf(operation: Operation & { kind: 'sum' | 'add' }): CollectionUses {
  if (operation.kind === 'add') return { writes: [operation.to] }
  return { reads: [operation.from], writes: [otherOf[operation.from]] }
}

/** Whether some order of the operations gives these results and the state that was found. */
function hasOrder(
  state: State,
  operations: readonly Operation[],
  results: readonly string[],
  found: string,
): boolean {
  if (operations.length === 0) return JSON.stringify(sorted(state)) === found
  return operations.some((operation, index) => {
    const [after, result] = referenceOf(operation)(state)
    if (result !== results[index]) return false
    return hasOrder(after, operations.toSpliced(index, 1), results.toSpliced(index, 1), found)
  })
}

/** Sorts the added items, whose ids follow the order in which they were drawn. */
function sorted({ walls, doors }: State): State {
  const added = (values: readonly number[]) => [
    ...values.slice(0, 2),
    ...values.slice(2).toSorted((a, b) => a - b),
  ]
  return { walls: added(walls), doors: added(doors) }
}

const listOf = (kind: Kind): ListShape => ({
  kind: 'list',
  collection: kind,
  within: undefined,
  filter: { kind: 'compare', field: 'run', operator: 'eq', param: 2 },
  search: undefined,
  sort: orderById,
  window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
  select: fields('id', 'value'),
})
const lists = { walls: listOf('walls'), doors: listOf('doors') }

type Program = Generator<StepOf<Plan<ReadShape> | Plan<WriteShape>>, string, StepAnswer>

/** One run, with its own items in a shared database. */
class Run {
  readonly #run: number
  readonly #ids: Readonly<Record<Kind, readonly number[]>>
  readonly #caller = user(1, 'user', 'all')

  constructor(run: number, ids: Run['ids']) {
    this.#run = run
    this.#ids = ids
  }

  get ids(): Readonly<Record<Kind, readonly number[]>> {
    return this.#ids
  }

  static async start(client: Client, run: number): Promise<Run> {
    const add = async (kind: Kind, value: number, more = {}) =>
      (await client.create(kind, { run, value, ...more })).id
    const walls = [await add('walls', 1), await add('walls', 2)]
    const ofWall = { wall_id: walls[0] ?? 0 }
    return new Run(run, { walls, doors: [await add('doors', 3, ofWall), await add('doors', 4, ofWall)] })
  }

  async perform(operation: Operation, client: Client): Promise<string> {
    try {
      if (operation.kind === 'set') {
        const id = this.#ids[operation.to][operation.at] ?? 0
        await client.update(operation.to, id, { value: operation.value }, this.#caller)
        return 'done'
      }
      const steps = () =>
        operation.kind === 'sum' ? this.#sum(operation, client) : this.#add(operation, client)
      return await client.transaction(steps, this.#caller, usesOf(operation))
    } catch (error) {
      return (error as { code: string }).code
    }
  }

  async state(client: Client): Promise<State> {
    const values = async (kind: Kind) =>
      ((await client.list(lists[kind], [0, 100, this.#run])).items ?? []).map(({ value }) => Number(value))
    return { walls: await values('walls'), doors: await values('doors') }
  }

  *#sum({ from, at }: Operation & { kind: 'sum' }, client: Client): Program {
    const list = (yield { shape: lists[from], args: [0, 100, this.#run] }) as ListAnswer
    const sum = sumOf((parsed(list.text) as { value: number }[]).map(({ value }) => value))
    const to = otherOf[from]
    yield client.change('merge', to, this.#ids[to][at] ?? 0, { value: sum + 1 })
    return `sum ${sum}`
  }

  *#add({ to, value }: Operation & { kind: 'add' }, client: Client): Program {
    const { total = 0 } = (yield { shape: lists[to], args: [0, 1, this.#run] }) as ListAnswer
    if (total >= maxItems) return 'full'
    const ofWall = to === 'doors' ? { wall_id: this.#ids.walls[0] ?? 0 } : {}
    yield client.creation(to, { run: this.#run, value, ...ofWall })
    return `after ${total}`
  }
}

const kinds = fc.constantFrom<Kind>('walls', 'doors')
const places = fc.constantFrom<0 | 1>(0, 1)
const values = fc.integer({ min: 0, max: 99 })
const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('sum' as const), from: kinds, at: places }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('add' as const), to: kinds, value: values }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('set' as const), to: kinds, at: places, value: values }),
  },
)

describe('serial transactions and concurrent single writes equal some sequential order', () => {
  for (const { name, within } of databaseKinds) {
    it(name, () =>
      within(async database => {
        const nodes = [await database.open(house), await database.open(house)]
        const clients = nodes.map(node => new Client(node, house))
        const [first] = clients
        assert.ok(first)
        await first.create('users', { name: 'Ann', email: 'ann@example.com' })
        let run = 0
        try {
          await fc.assert(
            fc.asyncProperty(fc.array(operations, { minLength: 3, maxLength: 6 }), async all => {
              const serialRun = await Run.start(first, ++run)
              const before = await serialRun.state(first)
              const results = await Promise.all(
                all.map((operation, index) => serialRun.perform(operation, clients[index % 2] ?? first)),
              )
              const found = JSON.stringify(sorted(await serialRun.state(first)))
              assert.ok(hasOrder(before, all, results, found), `${JSON.stringify(results)} ${found}`)
            }),
            cases(25, 10),
          )
        } finally {
          for (const node of nodes) await node.close()
        }
      }),
    )
  }
})
