/** Actions of the model as transactions. */

import { type Principal, withoutScopes } from '../../../base/principal.ts'
import type { ShownItem } from '../../../engine/idempotency/idempotency.ts'
import {
  asyncStepsOf,
  type OperationCall,
  type OperationParts,
  qualifiedName,
} from '../../../engine/logic/operations/call.ts'
import type { InputValues } from '../../../engine/logic/operations/input.ts'
import { operationSteps, readItemText } from '../../../engine/logic/operations/operation.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { ProgramSteps } from '../../../engine/plan/transaction.ts'
import type { Operation } from '../../../model/model.ts'
import { idBody } from '../write.ts'
import type { PreparedAction } from './action.ts'

export function preparedOperation(parts: OperationParts, call: OperationCall): PreparedAction {
  return {
    serial: {},
    asyncSteps: asyncStepsOf(parts.limits, [qualifiedName(call.operation)]),
    *steps() {
      return { result: yield* operationSteps(parts, call) }
    },
  }
}

interface ValuesBody {
  readonly text: string
  readonly items: readonly ShownItem[]
}

/** The JSON text of an output with several values. Items are shown as the caller may read them. Throws ANSWER_TOO_LARGE. */
export function* valuesBody(
  { model, limits }: Pick<OperationParts, 'model' | 'limits'>,
  { output }: Operation,
  values: InputValues,
  principal: Principal,
): ProgramSteps<ValuesBody> {
  const members: string[] = []
  const items: ShownItem[] = []
  const declared = output.kind === 'values' ? output.values : new Map()
  for (const [name, value] of Object.entries(values)) {
    const item = declared.get(name)
    const collection = item?.kind === 'item' ? model.collections.get(item.collection) : undefined
    let text = JSON.stringify(value)
    if (collection !== undefined && value !== null) {
      const id = Number(value)
      const itemText = yield* readItemText(model, collection, id, withoutScopes(principal))
      text = itemText ?? idBody(id)
      if (itemText !== null) items.push({ collection: collection.name, id })
    }
    members.push(`${JSON.stringify(name)}:${text}`)
  }
  const text = `{${members.join(',')}}`
  // Values and items together.
  new AnswerBound(limits.answers, 'writeBytes').require(text)
  return { text, items }
}
