/** A root field that is an action or a query of the model → the steps of its transaction, and the field's value. */

import type { Principal } from '../../../base/principal.ts'
import { admitOperation } from '../../../engine/logic/operations/access.ts'
import {
  asyncStepsOf,
  type OperationParts,
  type OperationResult,
  qualifiedName,
} from '../../../engine/logic/operations/call.ts'
import { checkedInput, inputShape, outputShape } from '../../../engine/logic/operations/input.ts'
import { operationSteps } from '../../../engine/logic/operations/operation.ts'
import type { CompositeAnswer, WriteAnswer } from '../../../engine/plan/answer.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import { type AsyncSteps, type ProgramSteps, planAs } from '../../../engine/plan/transaction.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Variables } from '../plan/input.ts'
import type { LogicStep } from '../plan/variant.ts'
import { graphqlValues } from './graphql-values.ts'
import { bodyOf, type PreparedStep } from './prepare-write.ts'

export interface PreparedLogic extends PreparedStep {
  readonly asyncSteps: AsyncSteps
  /** `text` of the answer: the value as JSON. */
  readonly steps: () => ProgramSteps<WriteAnswer>
}

/** Throws if the caller or the input is refused, before anything is read. */
export function prepareLogic(
  parts: OperationParts,
  step: LogicStep,
  variables: Variables,
  principal: Principal,
): PreparedLogic {
  const { operation, id, getters, shape } = step
  admitOperation(parts.model, operation, principal)
  const input = checkedInput(operation, bodyOf(inputShape(operation), step.values, variables))
  const args = getters.map(getter => getter(variables))
  const call = { operation, id: id && Number(id(variables)), input, principal }
  return {
    asyncSteps: asyncStepsOf(parts.limits, [qualifiedName(operation)]),
    *steps() {
      const result = yield* operationSteps(parts, call)
      const filledArgs = withItemIds(step.items, args, result)
      const isEmpty = shape.roots.length === 0 || result.kind === 'absent'
      const read = isEmpty ? {} : yield* readItems(step, filledArgs, principal)
      const text = JSON.stringify(valueFrom(step, result, read))
      // Values and items together.
      new AnswerBound(parts.limits.answers, 'writeBytes').require(text)
      return { id: result.kind === 'item' ? result.id : 0, text }
    },
    value: ({ text }) => (text === null ? null : JSON.parse(text)),
    refusalPlan: shape.roots.length === 0 ? undefined : { shape, args },
  }
}

/** The arguments, with the ids of the items that the operation returned. */
function withItemIds(
  items: LogicStep['items'],
  args: readonly JsonValue[],
  result: OperationResult,
): readonly JsonValue[] {
  const filledArgs = [...args]
  for (const { root, value } of items) {
    if (result.kind === 'item') filledArgs[root.id] = result.id
    if (result.kind === 'values') filledArgs[root.id] = result.values[value ?? ''] ?? 0
  }
  return filledArgs
}

function* readItems(
  { shape }: LogicStep,
  args: readonly JsonValue[],
  reader: Principal,
): ProgramSteps<JsonObject> {
  const { text } = (yield planAs(reader, { shape, args })) as CompositeAnswer
  return JSON.parse(text)
}

function valueFrom(
  { operation, replyField }: LogicStep,
  result: OperationResult,
  read: JsonObject,
): JsonValue {
  if (result.kind === 'nothing') return true
  if (result.kind === 'item') return read[replyField.source] ?? null
  if (result.kind === 'absent') return null
  return { ...graphqlValues(outputShape(operation), result.values), ...read }
}
