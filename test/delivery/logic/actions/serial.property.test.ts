/**
 * Concurrent actions, writes, batches, queries, transactions of jobs, increments and writes by a filter, on one node and on
 * three: their answers and the final state equal those of some sequential order. A reference tries all orders.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../../src/base/errors.ts'
import { service, user } from '../../../../src/base/principal.ts'
import { createData, executeBy } from '../../../../src/engine/logic/data/create-data.ts'
import type { TransactionCode } from '../../../../src/engine/logic/data/data.ts'
import { operationParts } from '../../../../src/engine/logic/operations/call.ts'
import { runTransaction } from '../../../../src/engine/logic/operations/transaction.ts'
import { action, collection, integer, item, model, query, signedIn } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import {
  type DatabaseKind,
  postgres,
  rowSecurityPostgres,
  sqlite,
} from '../../../api/contract/rest/databases.ts'
import { type Harness, openHarness } from '../../../api/contract/rest/harness.ts'
import { cases } from '../../../cases.ts'

// biome-ignore lint/suspicious/noExplicitAny: only generated types describe the arguments of `run`.
type Data = Record<string, any>

const cells = 3
const open = { read: signedIn, create: signedIn, update: signedIn, delete: signedIn }

const declared = checkModel(
  model(
    { cells: collection({ fields: { value: integer() }, access: open }) },
    {
      actions: {
        copy: action({
          of: 'cells',
          input: { from: item('cells'), to: item('cells') },
          output: { value: integer() },
          access: signedIn,
          run: async ({ input, data }: Data) => {
            const { value } = await data.cells.get(input.from.id)
            await data.cells.update(input.to.id, { value: value + 1 })
            return { value }
          },
        }),
        gather: action({
          of: 'cells',
          input: { to: item('cells'), fails: integer() },
          output: { value: integer() },
          access: signedIn,
          run: async ({ input, data }: Data) => {
            const all: { value: number }[] = await data.cells.list()
            const value = all.reduce((sum, value) => sum + value.value, 0) % 1000
            const { value: stored } = await data.cells.update(input.to.id, { value })
            if (input.fails === 1) throw new Error('undone')
            return { value: stored }
          },
        }),
      },
      queries: {
        total: query({
          output: { value: integer() },
          access: signedIn,
          run: async ({ data }: Data) => {
            let value = 0
            for (let id = 1; id <= cells; id++) value += (await data.cells.get(id)).value
            return { value }
          },
        }),
      },
    },
  ),
)

type Step =
  | { readonly kind: 'copy' | 'batch' | 'transaction'; readonly from: number; readonly to: number }
  | { readonly kind: 'increment' | 'below'; readonly to: number; readonly value: number }
  | { readonly kind: 'gather'; readonly to: number; readonly fails: boolean }
  | { readonly kind: 'set'; readonly to: number; readonly value: number }
  | { readonly kind: 'total' }

const cell = fc.integer({ min: 1, max: cells })
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('copy' as const), from: cell, to: cell }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('batch' as const), from: cell, to: cell }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('gather' as const), to: cell, fails: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      to: cell,
      value: fc.integer({ min: 0, max: 99 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('total' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('transaction' as const), from: cell, to: cell }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('increment' as const, 'below' as const),
      to: cell,
      value: fc.integer({ min: 1, max: 99 }),
    }),
  },
)

const failed = 'failed'
type Answer = number | typeof failed

/** Performs one step on the state, and returns its answer. */
function reference(state: number[], step: Step): Answer {
  switch (step.kind) {
    case 'copy': {
      const value = state[step.from - 1] ?? 0
      state[step.to - 1] = value + 1
      return value
    }
    case 'batch': {
      const value = state[step.from - 1] ?? 0
      state[step.to - 1] = 7
      return value
    }
    case 'gather': {
      if (step.fails) return failed
      const value = state.reduce((sum, value) => sum + value, 0) % 1000
      state[step.to - 1] = value
      return value
    }
    case 'set':
      state[step.to - 1] = step.value
      return step.value
    case 'transaction': {
      const value = state[step.from - 1] ?? 0
      state[step.to - 1] = value + 11
      return value
    }
    case 'increment': {
      const value = (state[step.to - 1] ?? 0) + step.value
      state[step.to - 1] = value
      return value
    }
    case 'below': {
      const below = state.filter(value => value < step.value).length
      for (const [index, value] of state.entries()) if (value < step.value) state[index] = value + 50
      return below
    }
    case 'total':
      return state.reduce((sum, value) => sum + value, 0)
  }
}

/** Whether some order of the steps gives these answers and this final state. */
function hasOrder(
  state: readonly number[],
  remaining: readonly { readonly step: Step; readonly answer: Answer }[],
  end: readonly number[],
): boolean {
  if (remaining.length === 0) return state.every((value, index) => value === end[index])
  return remaining.some((operation, index) => {
    const next = [...state]
    if (reference(next, operation.step) !== operation.answer) return false
    return hasOrder(next, remaining.toSpliced(index, 1), end)
  })
}

const ann = user(1, 'user', 'all')

async function send(harness: Harness, method: string, url: string, body?: unknown) {
  const reply = await harness.send({ method, url: `/api/v1${url}`, ...(body !== undefined && { body }) }, ann)
  return { status: reply.status, body: JSON.parse(String(reply.body)) }
}

const parts = operationParts(declared, new Map())
const inCode: ReadonlySet<string> = new Set(['transaction', 'increment', 'below'])

/** As a job does it. Undefined if others got in its way three times: it has changed nothing. */
async function performInCode({ run, refresh }: Node, step: Step): Promise<Answer | undefined> {
  await refresh()
  const execute = executeBy(run, parts.limits)
  const data: Data = createData({ model: declared, hooks: new Map(), execute }, service)
  const code: TransactionCode<number> = async (inner: Data, { actions }) => {
    if (step.kind !== 'transaction') throw new TypeError(step.kind)
    const copied = await actions['copy']?.({ from: step.from, to: step.to })
    await inner.cells.update(step.to, { value: { increment: 10 } })
    return (copied as { value: number }).value
  }
  try {
    if (step.kind === 'increment') {
      const { value } = await data.cells.update(step.to, { value: { increment: step.value } })
      return value
    }
    if (step.kind === 'below')
      return await data.cells.updateWhere({ value: { lt: step.value } }, { value: { increment: 50 } })
    const call = { place: 'jobs.copy', isDeclared: true, principal: service, code }
    return await runTransaction(parts, run, call)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'CONFLICT') return undefined
    throw error
  }
}

async function perform(harness: Node, step: Step): Promise<Answer | undefined> {
  switch (step.kind) {
    case 'transaction':
    case 'increment':
    case 'below':
      return performInCode(harness, step)
    case 'copy':
      return answerOf(await send(harness, 'POST', '/cells/copy', { from: step.from, to: step.to }))
    case 'gather':
      return answerOf(
        await send(harness, 'POST', '/cells/gather', { to: step.to, fails: step.fails ? 1 : 0 }),
      )
    case 'set':
      return answerOf(await send(harness, 'PATCH', `/cells/${step.to}`, { value: step.value }))
    case 'total':
      return answerOf(await send(harness, 'GET', '/queries/total'))
    case 'batch': {
      const operations = [
        { method: 'GET', path: `/cells/${step.from}` },
        { method: 'PATCH', path: `/cells/${step.to}`, body: { value: 7 } },
      ]
      const { status, body } = await send(harness, 'POST', '/batch', { operations })
      return answerOf({ status, body: body.results?.[0].body ?? body })
    }
  }
}

function answerOf({ status, body }: { status: number; body: { value: number } }): Answer {
  if (status === 500) return failed
  assert.equal(status, 200, JSON.stringify(body))
  return body.value
}

interface Node extends Harness {
  /** Called before each request, to detect the commits of other nodes. */
  refresh(): unknown
}

async function storedValues(harness: Node): Promise<number[]> {
  await harness.refresh()
  const { body } = await send(harness, 'GET', '/cells?sort=id')
  return body.data.map(({ value }: { value: number }) => value)
}

async function withNodes(kind: DatabaseKind, count: number, use: (nodes: readonly Node[]) => Promise<void>) {
  const database = await kind.create(declared)
  const nodes: Node[] = []
  try {
    for (let index = 0; index < count; index++) {
      const store = await database.open(declared)
      const harness = await openHarness(declared, async () => ({ store, close: () => store.close() }))
      nodes.push({ ...harness, refresh: () => store.refresh() })
    }
    for (let id = 1; id <= cells; id++) await nodes[0]?.seed('cells', { value: id })
    await use(nodes)
  } finally {
    for (const node of nodes) await node.close()
    await database.drop()
  }
}

const setups: readonly [DatabaseKind, number][] = [
  [sqlite, 1],
  [postgres, 1],
  [postgres, 3],
  [rowSecurityPostgres, 1],
]

for (const [kind, count] of setups) {
  describe(`${kind.name}, nodes: ${count}`, () => {
    test('concurrent actions, writes, batches, queries and what jobs do are serializable', () =>
      withNodes(kind, count, async nodes => {
        const [first] = nodes
        if (first === undefined) throw new Error('there is no node')
        let performedInCode = 0
        const property = fc.asyncProperty(fc.array(steps, { minLength: 3, maxLength: 6 }), async all => {
          const before = await storedValues(first)
          const answers = await Promise.all(
            all.map(async (step, index) => {
              const node = nodes[index % nodes.length] ?? first
              return { step, answer: await perform(node, step) }
            }),
          )
          const end = await storedValues(first)
          const done = answers.flatMap(({ step, answer }) => (answer === undefined ? [] : [{ step, answer }]))
          performedInCode += done.filter(({ step }) => inCode.has(step.kind)).length
          assert.ok(hasOrder(before, done, end), JSON.stringify({ before, done: answers, end }))
        })
        await fc.assert(property, { ...cases(60, 20), endOnFailure: true })
        assert.ok(performedInCode > 0)
      }))
  })
}
