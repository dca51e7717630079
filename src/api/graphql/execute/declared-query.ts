/** A root field that is a query of the model. It reads one snapshot. */

import type { Principal } from '../../../base/principal.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Variables } from '../plan/input.ts'
import type { LogicStep } from '../plan/variant.ts'
import { prepareLogic } from './prepare-logic.ts'
import { type PreparedStep, withArgumentNames } from './prepare-write.ts'

export interface DeclaredQueryParts {
  readonly run: Run
  readonly logic: OperationParts
}

/** `value` throws the error with which the query failed. */
export interface QueryResult {
  readonly prepared: PreparedStep | undefined
  readonly value: () => unknown
}

export type QueryResults = ReadonlyMap<LogicStep, QueryResult>

/** The caller of queries, their variables, and the bound of all their answers together. */
export interface QueryContext {
  readonly variables: Variables
  readonly principal: Principal
  readonly answerBound: AnswerBound
}

/** Runs the queries one after the other, so that a request uses one database connection at a time. */
export async function runQueries(
  parts: DeclaredQueryParts,
  steps: readonly LogicStep[],
  context: QueryContext,
): Promise<QueryResults> {
  const results = new Map<LogicStep, QueryResult>()
  for (const step of steps) results.set(step, await runQuery(parts, step, context))
  return results
}

async function runQuery(
  { run, logic }: DeclaredQueryParts,
  step: LogicStep,
  { variables, principal, answerBound }: QueryContext,
): Promise<QueryResult> {
  try {
    const prepared = prepareLogic(logic, step, variables, principal)
    const { asyncSteps, steps } = prepared
    const answer = await run.transaction({ principal, serial: undefined, snapshot: true, asyncSteps, steps })
    answerBound.add(answer.text)
    return { prepared, value: () => prepared.value(answer) }
  } catch (error) {
    const value = () => {
      throw withArgumentNames(error)
    }
    return { prepared: undefined, value }
  }
}
