/** Asynchronous functions as steps of a transaction: calls that they did not await. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ApiError } from '../../../../src/base/errors.ts'
import { createWatchdog } from '../../../../src/base/watchdog/watchdog.ts'
import type { AsyncStep, RunStep, StepAnswer } from '../../../../src/engine/plan/transaction.ts'
import {
  type GuardedInnerStep,
  runAsyncStep,
  runAsyncStepSync,
} from '../../../../src/engine/store/write/async-step.ts'
import type { GuardedPlanStep } from '../../../../src/engine/store/write/transaction.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const step = {} as GuardedInnerStep
const answer: StepAnswer = true

function asyncStep(
  start: (run: RunStep<GuardedInnerStep>) => Promise<void>,
  maxSteps = 100,
): AsyncStep<GuardedPlanStep> {
  return {
    kind: 'asyncStep',
    place: 'actions.test',
    limitMs: 1000,
    maxSteps,
    turn: work => work(),
    start,
  }
}

/** Runs the function; returns the number of steps that ran, and its error. */
async function stepsOf(
  given: AsyncStep<GuardedPlanStep>,
): Promise<{ readonly ran: number; readonly error: unknown }> {
  let ran = 0
  const error = await runAsyncStep(given, async () => {
    ran++
    return answer
  }).then(
    () => undefined,
    cause => cause,
  )
  return { ran, error }
}

test('unawaited calls of a function run unless it fails', async () => {
  const calls = (fails: boolean) =>
    asyncStep(async run => {
      for (let index = 0; index < 10; index++) void run(step)
      if (fails) throw new ApiError('CONFLICT')
    })
  assert.deepEqual(await stepsOf(calls(false)), { ran: 10, error: undefined })
  const { ran, error } = await stepsOf(calls(true))
  assert.equal(ran, 0)
  assert.ok(error instanceof ApiError && error.code === 'CONFLICT')
})

test('an unawaited loop of a failed function makes no further calls', async () => {
  const failing = asyncStep(async run => {
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
  let synchronousCalls = 0
  const immediate = () => {
    synchronousCalls++
    return answer
  }
  const { turn } = createWatchdog()
  // `turn` must start without pending microtasks.
  await new Promise<void>(resolve =>
    setImmediate(() => {
      const turned = { ...failing, turn: (work: () => void) => turn('actions.test', work) }
      assert.throws(() => runAsyncStepSync(turned, immediate), { code: 'CONFLICT' })
      resolve()
    }),
  )
  assert.ok(synchronousCalls < 20, `${synchronousCalls} calls`)
})

test('a function that exceeds its limit of calls runs none of the queued ones', async () => {
  const greedy = asyncStep(async run => {
    await Promise.all(Array.from({ length: 11 }, () => run(step)))
  }, 10)
  const { ran, error } = await stepsOf(greedy)
  assert.equal(ran, 0)
  assert.ok(error instanceof ApiError && error.code === 'BAD_REQUEST')
})

test('a function that was refused a call is not kept in memory', async () => {
  const runRefused = async () => {
    const held = { text: 'what the function holds' }
    const { error } = await stepsOf(
      asyncStep(async run => {
        for (;;) {
          await run(step)
          held.text += '.'
        }
      }, 3),
    )
    assert.ok(error instanceof ApiError && error.code === 'BAD_REQUEST')
    return new WeakRef(held)
  }
  const held = await runRefused()
  // A `WeakRef` keeps its target until the turn of the event loop ends.
  await new Promise(resolve => setImmediate(resolve))
  collectGarbage()
  assert.equal(held.deref(), undefined)
})

test('a function whose reads and writes fill its time is UNAVAILABLE', async () => {
  const watchdog = createWatchdog()
  const limited = (start: (run: RunStep<GuardedInnerStep>) => Promise<void>) => ({
    ...asyncStep(start, Number.POSITIVE_INFINITY),
    limitMs: 100,
    turn: (work: () => void) => watchdog.turn('actions.test', work),
  })
  // In a turn of its own: within a microtask, no microtask of the function would run.
  const errorOf = (given: AsyncStep<GuardedPlanStep>) =>
    new Promise<unknown>(resolve => {
      setImmediate(() => {
        try {
          runAsyncStepSync(given, () => answer)
          resolve(undefined)
        } catch (error) {
          resolve(error)
        }
      })
    })
  const steady = await errorOf(
    limited(async run => {
      for (;;) await run(step)
    }),
  )
  assert.ok(steady instanceof ApiError && steady.code === 'UNAVAILABLE', String(steady))
})
