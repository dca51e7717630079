/** Runs an action or a query as the steps of one transaction. */
import { inspect } from 'node:util'
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import { type Principal, withoutScopes } from '../../../base/principal.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { Action, Collection, Model, Operation, Query } from '../../../model/model.ts'
import type { ReadAnswer } from '../../plan/answer.ts'
import { AnswerBound } from '../../plan/answer-bound.ts'
import { namesFor } from '../../plan/guard/guard.ts'
import type { ItemShape } from '../../plan/plan.ts'
import { selected } from '../../plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../plan/transaction.ts'
import { interned } from '../data/plans.ts'
import { collectionOfOperation, operationRefusal, staticAccess, withScopesDecided } from './access.ts'
import { type OperationCall, type OperationParts, type OperationResult, qualifiedName } from './call.ts'
import { OperationContext } from './context.ts'
import { checkedOutput, inputShape, itemId, outputShape, withDefaults } from './input.ts'

/** The steps after `admitOperation`. Throws NOT_FOUND, FORBIDDEN, VALIDATION_FAILED, and the errors of `run`. */
export function* operationSteps(parts: OperationParts, call: OperationCall): ProgramSteps<OperationResult> {
  const { operation } = call
  const nowIso = new Date(parts.now()).toISOString()
  const item = yield* itemOf(parts.model, call)
  const input = yield* inputOf(parts.model, call, nowIso)
  const context = new OperationContext(parts, call, { nowIso, item, input, callSteps })
  let returned: unknown
  const place = qualifiedName(operation)
  yield {
    kind: 'asyncStep',
    place,
    limitMs: parts.limits.timeMs,
    maxSteps: parts.limits.operations,
    turn: work => parts.watchdog.turn(place, work),
    async start(run) {
      returned = await context.run(run)
    },
  }
  const result = resultOf(call, returned, nowIso)
  if (result.kind === 'values') {
    new AnswerBound(parts.limits.answers, 'writeBytes').require(JSON.stringify(result.values))
  }
  return result
}

/** The same for a call by the model's code or a program. The result has items as the principal may read them. */
export function* callSteps(parts: OperationParts, call: OperationCall): ProgramSteps<unknown> {
  const result = yield* operationSteps(parts, call)
  if (result.kind === 'nothing') return undefined
  if (result.kind === 'absent') return null
  if (result.kind === 'item')
    return yield* returnedItem(parts.model, result.collection, result.id, call.principal)
  const { output } = call.operation
  const values: Record<string, unknown> = { ...result.values }
  for (const [name, value] of output.kind === 'values' ? output.values : []) {
    if (value.kind !== 'item' || values[name] === null) continue
    values[name] = yield* returnedItem(parts.model, value.collection, Number(values[name]), call.principal)
  }
  return Object.freeze(values)
}

function* returnedItem(
  model: Model,
  name: string,
  id: number,
  principal: Principal,
): ProgramSteps<LogicItem> {
  const collection = model.collections.get(name)
  const text = collection && (yield* readItemText(model, collection, id, withoutScopes(principal)))
  return Object.freeze(text ? JSON.parse(text) : { id })
}

/** The item as JSON, with the fields that the principal may read; null if the item does not exist or may not be read. */
export function* readItemText(
  model: Model,
  collection: Collection,
  id: number,
  principal: Principal,
): ProgramSteps<string | null> {
  const shape = itemShape(model, collection, principal)
  const { text } = (yield planAs(principal, { shape, args: [id] })) as ReadAnswer
  return text
}

function itemShape(model: Model, collection: Collection, { access }: Principal): ItemShape {
  const select = selected([...namesFor(model, collection, access).fields.keys()])
  return interned({ kind: 'item', collection: collection.name, id: 0, select })
}

function* itemOf(
  model: Model,
  { operation, id, principal }: OperationCall,
): ProgramSteps<LogicItem | undefined> {
  const { access } = principal
  if (id === undefined) return undefined
  const collection = collectionOfOperation(model, operation)
  const text = yield* readItemText(model, collection, id, withoutScopes(principal))
  if (text === null) throw new ApiError('NOT_FOUND')
  if (staticAccess(model, operation, access) === 'depends')
    yield* requireRule(operation, collection, id, principal)
  return Object.freeze(JSON.parse(text))
}

/** Throws FORBIDDEN if the operation's rule does not hold for the item. */
function* requireRule(
  operation: Operation,
  collection: Collection,
  id: number,
  principal: Principal,
): ProgramSteps<void> {
  const shape = interned<ItemShape>({
    kind: 'item',
    collection: collection.name,
    id: 0,
    select: selected(['id']),
    rule: withScopesDecided(operation.access, principal.access),
  })
  const { text } = (yield planAs(withoutScopes(principal), { shape, args: [id] })) as ReadAnswer
  if (text === null) throw operationRefusal(operation, principal.access)
}

/** The input with its defaults, and with items in place of their ids. */
function* inputOf(
  model: Model,
  { operation, input, principal }: OperationCall,
  at: string,
): ProgramSteps<Readonly<Record<string, unknown>>> {
  const shape = inputShape(operation)
  const values: Record<string, unknown> = withDefaults(shape, input, at, principal.userId)
  const faults: FieldFault[] = []
  for (const [name, value] of operation.input) {
    if (value.kind !== 'item' || values[name] === null) continue
    const collection = model.collections.get(value.collection)
    const text =
      collection && (yield* readItemText(model, collection, Number(values[name]), withoutScopes(principal)))
    if (text) values[name] = Object.freeze(JSON.parse(text))
    else {
      const message = `${name} must be the id of an item of ${value.collection} that you may read.`
      faults.push({ field: name, code: 'not_found', message })
    }
  }
  if (faults.length > 0) throw new ApiError('VALIDATION_FAILED', faults[0]?.message, { details: faults })
  return Object.freeze(values)
}

function resultOf({ operation, principal }: OperationCall, returned: unknown, at: string): OperationResult {
  const { output } = operation
  if (output.kind === 'nothing') {
    if (returned === undefined || returned === null) return { kind: 'nothing' }
    throw invalidOutput(
      operation,
      'It returns a value, but declares no `output`: declare one, or return nothing.',
    )
  }
  if (output.kind === 'item') {
    const id = itemId(returned)
    if (output.optional && (id === undefined || id === null)) return { kind: 'absent' }
    if (Number.isSafeInteger(id)) return { kind: 'item', collection: output.collection, id: Number(id) }
    throw invalidOutput(
      operation,
      `It must return an item of ${output.collection}, not ${inspect(returned, { depth: 0 })}.`,
    )
  }
  const values = checkedOutput(operation, returned)
  if (values instanceof Error) throw invalidOutput(operation, values.message)
  return { kind: 'values', values: withDefaults(outputShape(operation), values, at, principal.userId) }
}

/** An internal error with a message for the operator, which clients do not see. */
function invalidOutput(operation: Action | Query, message: string): ApiError {
  const cause = new Error(`${qualifiedName(operation)}: the output does not fit. ${message}`)
  return new ApiError('INTERNAL_ERROR', undefined, { cause })
}
