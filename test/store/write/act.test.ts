/** Asynchronous functions as steps of a transaction: what becomes of calls that they have not awaited. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/errors.ts'
import type { Act, RunStep, StepAnswer } from '../../../src/plan/transaction.ts'
import { type GuardedActStep, runAct, runActSlowly } from '../../../src/store/write/act.ts'
import type { GuardedPlanStep } from '../../../src/store/write/transaction.ts'
import { createTimeLimit } from '../../../src/time-limit.ts'

const step = {} as GuardedActStep
const answer: StepAnswer = true

function act(start: (run: RunStep<GuardedActStep>) => Promise<void>, maxSteps = 100): Act<GuardedPlanStep> {
  return { act: 'actions.test', limitMs: 1000, maxSteps, turn: work => work(), start } as Act<GuardedPlanStep>
}

/** How many steps run. */
async function stepsOf(
  given: Act<GuardedPlanStep>,
): Promise<{ readonly ran: number; readonly error: unknown }> {
  let ran = 0
  const error = await runActSlowly(given, async () => {
    ran++
    return answer
  }).then(
    () => undefined,
    cause => cause,
  )
  return { ran, error }
}

test('calls that a function has not awaited run, unless it has failed', async () => {
  const calls = (fails: boolean) =>
    act(async run => {
      for (let at = 0; at < 10; at++) void run(step)
      if (fails) throw new ApiError('CONFLICT')
    })
  assert.deepEqual(await stepsOf(calls(false)), { ran: 10, error: undefined })
  const { ran, error } = await stepsOf(calls(true))
  assert.equal(ran, 0)
  assert.ok(error instanceof ApiError && error.code === 'CONFLICT')
})

test('a loop that a failed function has not awaited makes no further calls', async () => {
  const failing = act(async run => {
    await run(step)
    void (async () => {
      for (;;) await run(step)
    })()
    await run(step)
    throw new ApiError('CONFLICT')
  })
  const { ran, error } = await stepsOf(failing)
  assert.ok(ran <= 4, `${ran} calls`)
  assert.ok(error instanceof ApiError && error.code === 'CONFLICT', String(error))
  let atOnce = 0
  const immediate = () => {
    atOnce++
    return answer
  }
  const { turn } = createTimeLimit()
  // `turn` must begin where no microtasks wait.
  await new Promise<void>(resolve =>
    setImmediate(() => {
      const turned = { ...failing, turn: (work: () => void) => turn('actions.test', work) }
      assert.throws(() => runAct(turned, immediate), { code: 'CONFLICT' })
      resolve()
    }),
  )
  assert.ok(atOnce < 20, `${atOnce} calls`)
})

test('a function that makes more calls than it may runs none of those that wait', async () => {
  const greedy = act(async run => {
    await Promise.all(Array.from({ length: 11 }, () => run(step)))
  }, 10)
  const { ran, error } = await stepsOf(greedy)
  assert.equal(ran, 0)
  assert.ok(error instanceof ApiError && error.code === 'BAD_REQUEST')
})
