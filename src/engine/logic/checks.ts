/** Checks that read, as steps of the writes of their collections. */
import { type Principal, service } from '../../base/principal.ts'
import { callerOf } from '../../model/logic/caller.ts'
import type { LogicItem } from '../../model/logic/logic.ts'
import type { Collection } from '../../model/model.ts'
import { isWrite } from '../plan/plan.ts'
import { type AsyncStep, type PlanAs, type ProgramPlan, planAs, type RunStep } from '../plan/transaction.ts'
import { errorForCaller, thrownError } from './data/call-error.ts'
import { createData } from './data/create-data.ts'
import type { OperationParts } from './operations/call.ts'
import { TrackedCalls } from './operations/tracked-calls.ts'

interface CheckedWrite {
  readonly next: LogicItem
  readonly previous: LogicItem | undefined
  readonly principal: Principal
  /** ISO 8601 UTC. */
  readonly now: string
}

interface CheckRun {
  readonly step: AsyncStep<ProgramPlan | PlanAs>
  /** What the check has returned, after the step. */
  readonly returned: () => unknown
}

type CheckParts = Pick<OperationParts, 'model' | 'watchdog' | 'limits'>

/** The check of a collection that has one. */
export function checkRun(parts: CheckParts, collection: Collection['name'], write: CheckedWrite): CheckRun {
  const { model, watchdog, limits } = parts
  const code = model.logic.checks.get(collection) as (context: object) => unknown
  const place = `checks.${collection}`
  let returned: unknown
  return {
    returned: () => returned,
    step: {
      kind: 'asyncStep',
      place,
      limitMs: limits.timeMs,
      maxSteps: limits.operations,
      turn: work => watchdog.turn(place, work),
      async start(run) {
        const calls = new TrackedCalls()
        try {
          returned = await code(contextOf(parts, place, write, run, calls))
          await calls.requireAwaited()
        } catch (error) {
          throw errorForCaller(thrownError(error))
        }
      },
    },
  }
}

function contextOf(
  { model }: CheckParts,
  place: string,
  { next, previous, principal, now }: CheckedWrite,
  run: RunStep<ProgramPlan | PlanAs>,
  { track }: TrackedCalls,
): object {
  const execute = (work: unknown, as: Principal) => {
    const plan = work as ProgramPlan
    if (typeof work === 'function' || isWrite(plan)) throw new Error(`${place} only reads.`)
    return run(planAs(as, plan))
  }
  const data = createData({ model, hooks: new Map(), execute, track }, service)
  return Object.freeze({ next, previous, caller: callerOf(principal), data, now })
}
