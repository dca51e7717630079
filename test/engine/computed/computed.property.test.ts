/** Computed fields on every database equal those of a naive evaluator, for every caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import type { Principal } from '../../../src/base/principal.ts'
import type { ReadAnswer } from '../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { ListShape, Plan, ReadShape } from '../../../src/engine/plan/plan.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { Model } from '../../../src/model/model.ts'
import { cases } from '../../cases.ts'
import { seededStores } from '../../setups/databases/seeded-store.ts'
import { datas, principals } from '../plan/random.ts'
import { type Data, readReference, requestTimeMs } from '../plan/reference.ts'
import { computedModels, computedPlans } from './random.ts'
import { ComputedEvaluation } from './reference.ts'

const plansPerModel = 25

interface Outcome {
  readonly answered: number
  readonly refused: number
}

function parsed(answer: ReadAnswer): Record<string, unknown> {
  const value = answer.text === null ? null : JSON.parse(answer.text)
  if (answer.kind === 'item') return { item: value }
  const { total, next } = answer
  return {
    list: value,
    ...(total === undefined ? {} : { total }),
    // A cursor is JSON, which writes a negative zero as 0.
    ...(next === undefined ? {} : { next: JSON.parse(JSON.stringify(next)) }),
  }
}

async function attempt(run: () => ReadAnswer | PromiseLike<ReadAnswer>) {
  try {
    return { answer: parsed(await run()) }
  } catch (error) {
    if (error instanceof ApiError) return { refused: error }
    throw error
  }
}

/** Checks the answer to a plan and, for a list by cursor, the following pages. */
async function check(model: Model, data: Data, store: Store, who: Principal, plan: Plan<ReadShape>) {
  const guard = createGuard(model)
  let pagePlan = plan
  for (let page = 0; page < 4; page++) {
    const evaluation = new ComputedEvaluation(model, data, who, pagePlan.args)
    const expected = readReference(model, data, who, pagePlan, evaluation)
    const outcome = await attempt(() => store.read(guard(pagePlan as Plan<ListShape>, who)))
    if ('errors' in expected) {
      assert.ok('refused' in outcome, `answered instead of ${[...expected.errors]}`)
      assert.ok(expected.errors.has(outcome.refused.code), outcome.refused.message)
      return false
    }
    assert.ok('answer' in outcome, 'refused' in outcome ? outcome.refused.message : '')
    assert.deepEqual(outcome.answer, expected)
    if (!('list' in expected) || !Array.isArray(expected.next) || plan.shape.kind !== 'list') return true
    const after = expected.next.map((_, index) => plan.args.length + index)
    const shape = { ...plan.shape, window: { ...plan.shape.window, after } } as ListShape
    pagePlan = { shape, args: [...plan.args, ...expected.next] }
  }
  return true
}

/** The number of random models: PostgreSQL databases take longer to create than files. */
const models = (name: string) => (name === 'SQLite' ? cases(60, 20) : cases(4, 2))

for (const { name, within } of seededStores) {
  test(`on ${name} computed fields in selections, filters, sort orders and cursors equal those of the reference`, async () => {
    const requests = fc.array(fc.tuple(principals, computedPlans), {
      minLength: plansPerModel,
      maxLength: plansPerModel,
    })
    const outcome = { answered: 0, refused: 0 }
    const property = fc.asyncProperty(computedModels, datas, requests, async (model, data, all) => {
      await within(
        model,
        data,
        async ({ store }) => {
          for (const [who, plan] of all) {
            const isAnswered = await check(model, data, store, who, plan)
            outcome[isAnswered ? 'answered' : 'refused']++
          }
        },
        () => requestTimeMs,
      )
    })
    await fc.assert(property, { ...models(name), endOnFailure: true })
    const { answered, refused }: Outcome = outcome
    const least = (models(name).numRuns * plansPerModel) / 10
    assert.ok(answered > least && refused > least, `${answered} answered, ${refused} refused`)
  })
}
