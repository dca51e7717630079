/** A root field that is a query of the model. It reads one snapshot. */
import type { OperationParts } from '../../logic/operations/call.ts'
import type { Run } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
import type { Variables } from '../plan/input.ts'
import type { ActStep } from '../plan/variant.ts'
import { prepareAct } from './prepare-act.ts'
import { inArguments, type PreparedStep } from './prepare-write.ts'

export interface DeclaredQueryParts {
  readonly run: Run
  readonly logic: OperationParts
}

/** `value` throws the error with which the query failed. */
export interface QueryDone {
  readonly prepared: PreparedStep | undefined
  readonly value: () => unknown
}

export type QueriesDone = ReadonlyMap<ActStep, QueryDone>

/** Runs the queries one after the other, so that a request uses one database connection at a time. */
export async function doneQueries(
  parts: DeclaredQueryParts,
  steps: readonly ActStep[],
  variables: Variables,
  principal: Principal,
): Promise<QueriesDone> {
  const all = new Map<ActStep, QueryDone>()
  for (const step of steps) all.set(step, await done(parts, step, variables, principal))
  return all
}

async function done(
  { run, logic }: DeclaredQueryParts,
  step: ActStep,
  variables: Variables,
  principal: Principal,
): Promise<QueryDone> {
  try {
    const prepared = prepareAct(logic, step, variables, principal)
    const { acts, steps } = prepared
    const answer = await run.transaction({ principal, serial: undefined, snapshot: true, acts, steps })
    return { prepared, value: () => prepared.value(answer) }
  } catch (error) {
    const value = () => {
      throw inArguments(error)
    }
    return { prepared: undefined, value }
  }
}
