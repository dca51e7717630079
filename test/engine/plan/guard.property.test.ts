/** The guard allows exactly what the reference allows, for random rules, rows, callers and plans. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError, type ErrorCode } from '../../../src/base/errors.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { GuardedRead } from '../../../src/engine/plan/guarded.ts'
import type { ListShape, Plan, ReadShape } from '../../../src/engine/plan/plan.ts'
import { caseCount, cases } from '../../cases.ts'
import { interpretRead, interpretWrite } from './interpreter.ts'
import { datas, models, principals, readPlans, writePlans } from './random.ts'
import { readReference, writeReference } from './reference.ts'

const runs = caseCount(20_000, 600)

function attempt<T>(run: () => T): T | { readonly refused: ErrorCode } {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.code }
    throw error
  }
}

test('reads return exactly what the reference returns, or are refused as it refuses them', () => {
  let answeredCount = 0
  let refused = 0
  const property = fc.property(models, datas, principals, readPlans, (model, data, who, plan) => {
    const expected = readReference(model, data, who, plan)
    const outcome = attempt(() => interpretRead(data, createGuard(model)(plan as Plan<ListShape>, who)))
    if ('errors' in expected) {
      refused++
      assert.ok('refused' in outcome, `answered instead of ${[...expected.errors]}`)
      assert.ok(expected.errors.has(outcome.refused), `${outcome.refused}, not ${[...expected.errors]}`)
    } else {
      answeredCount++
      assert.ok(!('refused' in outcome), `refused with ${'refused' in outcome && outcome.refused}`)
      assert.deepEqual(outcome.result, expected)
    }
  })
  fc.assert(property, cases(20_000, 600))
  assert.ok(answeredCount > runs / 8 && refused > runs / 20, `${answeredCount} answered, ${refused} refused`)
})

test('consecutive pages by cursor equal those of the reference', () => {
  const walked = fc.property(models, datas, principals, readPlans, (model, data, who, plan) => {
    if (plan.shape.kind !== 'list' || plan.shape.window.kind !== 'cursor') return
    const guard = createGuard(model)
    let pagePlan: Plan<ReadShape> = plan
    for (let page = 0; page < 10; page++) {
      const expected = readReference(model, data, who, pagePlan)
      if ('errors' in expected) return
      const { result } = interpretRead(data, guard(pagePlan as Plan<ListShape>, who))
      assert.deepEqual(result, expected)
      if (!('list' in result) || !Array.isArray(result.next)) return
      const { length } = plan.args
      const after = result.next.map((_, i) => length + i)
      const shape: ListShape = { ...plan.shape, window: { ...plan.shape.window, after } }
      pagePlan = { shape, args: [...plan.args, ...result.next] }
    }
  })
  fc.assert(walked, cases(10_000, 300))
})

test('writes store exactly what the reference stores, or are refused as it refuses them', () => {
  let written = 0
  let refused = 0
  const property = fc.property(models, datas, principals, writePlans, (model, data, who, plan) => {
    const expected = writeReference(model, data, who, plan)
    const outcome = attempt(() => interpretWrite(data, createGuard(model)(plan, who)))
    if ('errors' in expected) {
      refused++
      assert.ok('refused' in outcome, `written instead of ${[...expected.errors]}`)
      assert.ok(expected.errors.has(outcome.refused), `${outcome.refused}, not ${[...expected.errors]}`)
    } else {
      written++
      assert.deepEqual(outcome, expected)
    }
  })
  fc.assert(property, cases(20_000, 600))
  assert.ok(written > runs / 10 && refused > runs / 10, `${written} written, ${refused} refused`)
})

test('an answer depends only on the collections and the user that the guarded plan declares', () => {
  const property = fc.property(models, datas, principals, readPlans, (model, data, who, plan) => {
    const guarded = attempt((): GuardedRead => createGuard(model)(plan as Plan<ListShape>, who))
    if ('refused' in guarded) return
    const { collectionsRead, usesCaller, usesTimeOrClaims } = interpretRead(data, guarded)
    const { reads, personal, volatile } = guarded.shape
    assert.deepEqual(
      [...collectionsRead].filter(name => !reads.includes(name)),
      [],
    )
    assert.ok(personal || !usesCaller)
    assert.ok(volatile || !usesTimeOrClaims)
    assert.deepEqual(reads, [...new Set(reads)].sort())
  })
  fc.assert(property, cases(10_000, 300))
})

test('a guard shared by several callers allows each what a guard of its own would allow', () => {
  const several = fc.array(principals, { minLength: 2, maxLength: 5 })
  const property = fc.property(models, datas, several, readPlans, (model, data, callers, plan) => {
    const shared = createGuard(model)
    for (const who of callers) {
      const list = plan as Plan<ListShape>
      const alone = attempt(() => interpretRead(data, createGuard(model)(list, who)).result)
      assert.deepEqual(
        attempt(() => interpretRead(data, shared(list, who)).result),
        alone,
      )
    }
  })
  fc.assert(property, cases(5000, 150))
})
