/** Runs actions and queries. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { KeyedAttempt, Replayable } from '../../../engine/idempotency/idempotency.ts'
import { admitOperation } from '../../../engine/logic/operations/access.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { ReadAnswer } from '../../../engine/plan/answer.ts'
import { type ItemShape, includedLimit } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape } from '../../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../../engine/plan/transaction.ts'
import type { Collection, Model, Operation } from '../../../model/model.ts'
import type { CollectionView, ItemTemplate } from '../query/collection-view.ts'
import { parseItem } from '../query/item.ts'
import { parseQuery, unknownParameter } from '../query/query-string.ts'
import { makePresentation } from '../reply/headers.ts'
import { idBody, withRevealed } from '../write.ts'
import {
  type ActionResult,
  done,
  type ItemActions,
  type PreparedAction,
  type SubresourceHandlers,
} from './action.ts'
import { admitBuiltinAction, ruleOfSetting, settingRefused } from './admission.ts'
import { bodyInput, builtinInput, type OperationInput, queryInput } from './input.ts'
import { preparedOperation, valuesBody } from './prepare.ts'
import type { ActionRoute, BuiltinActionRoute, NestedItem, QueryRoute } from './routes.ts'

export interface ActionServices {
  readonly model: Model
  readonly run: Run
  readonly actions: ItemActions
  readonly subresources: SubresourceHandlers
  readonly logic: OperationParts
  /** Throws NOT_FOUND for a collection that does not exist for the principal. */
  readonly viewOf: (collection: string, principal: Principal) => CollectionView
}

const shapes = new Map<string, ItemShape>()

/** One shape per collection and field, because each shape is compiled once. */
function shapeOf({ name }: Pick<Collection, 'name'>, field: string): ItemShape {
  const key = `${name} ${field}`
  const shape = shapes.get(key) ?? itemShape(name, [field])
  shapes.set(key, shape)
  return shape
}

/** Throws NOT_FOUND unless the caller may read the item. */
function requireItem(
  run: Run,
  { collection, id }: Pick<BuiltinActionRoute, 'collection' | 'id'>,
  principal: Principal,
): Awaitable<void> {
  return then(run.item({ shape: shapeOf(collection, 'id'), args: [id] }, principal), ({ text }) => {
    if (text === null) throw new ApiError('NOT_FOUND')
  })
}

const settingShapes = new WeakMap<Collection, Map<string, ItemShape>>()

/** Finds the item only if the caller may set the field. */
function settingShape(collection: Collection, field: string): ItemShape {
  const cached = settingShapes.get(collection)?.get(field)
  if (cached) return cached
  const rules = [collection.access.update, ruleOfSetting(collection, field)]
  const shape: ItemShape = { ...itemShape(collection.name, ['id']), rule: { kind: 'and', parts: rules } }
  settingShapes.set(collection, (settingShapes.get(collection) ?? new Map()).set(field, shape))
  return shape
}

/** Throws NOT_FOUND unless the caller may read the item, and FORBIDDEN unless the caller may set the field. */
export async function requireSettable(
  { run }: ActionServices,
  target: Pick<BuiltinActionRoute, 'collection' | 'id'>,
  field: string,
  principal: Principal,
): Promise<void> {
  await requireItem(run, target, principal)
  const { text } = await run.item(
    { shape: settingShape(target.collection, field), args: [target.id] },
    principal,
  )
  if (text === null) throw settingRefused(target.collection, field, principal.access)
}

const deletableShapes = new WeakMap<Collection, ItemShape>()

/** Throws FORBIDDEN unless the caller may delete the item. */
async function requireDeletable(
  { run }: ActionServices,
  { collection, id }: BuiltinActionRoute,
  principal: Principal,
): Promise<void> {
  const { name, access } = collection
  const shape = deletableShapes.get(collection) ?? { ...itemShape(name, ['id']), rule: access.delete }
  deletableShapes.set(collection, shape)
  const { text } = await run.item({ shape, args: [id] }, principal)
  if (text === null)
    throw new ApiError('FORBIDDEN', undefined, { refused: { collection: name, operation: 'delete' } })
}

/** Throws NOT_FOUND unless the caller may read the nested item, and it belongs to the item that the path names. */
export function requireNested(
  run: Run,
  { id, relation, nested }: NestedItem,
  principal: Principal,
): Awaitable<void> {
  if (relation.kind !== 'many') throw new ApiError('NOT_FOUND')
  const shape = shapeOf({ name: relation.target }, relation.field)
  return then(run.item({ shape, args: [nested] }, principal), ({ text }) => {
    const parent = text === null ? undefined : JSON.parse(text)[relation.field]
    if (parent !== id) throw new ApiError('NOT_FOUND')
  })
}

/** POST to an action of the model: 200 with its result, 204 if it has none. */
export async function answerAction(
  services: ActionServices,
  route: ActionRoute,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const { program, answer } = preparedAction(services, route, call, principal)
  return carryOut(services.run, program, answer, principal, attempt)
}

/** The same for a built-in action. */
export async function answerBuiltinAction(
  services: ActionServices,
  route: BuiltinActionRoute,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const { run } = services
  admitBuiltinAction(services.model, route, principal)
  const { name, returns, settableField, deletes } = route.action
  const template = templateOf(services, returns, call.query, principal)
  const input = builtinInput(route.action, call)
  if (settableField === undefined) await requireItem(run, route, principal)
  else await requireSettable(services, route, settableField, principal)
  if (deletes) await requireDeletable(services, route, principal)
  if (route.within) await requireNested(run, route.within, principal)
  const action = services.actions.get(route.collection.name)?.get(name)
  if (action === undefined) throw new ApiError('NOT_FOUND')
  const program = await action({ id: route.id, nested: route.within?.nested, input }, principal)
  return carryOutBuiltin(services, program, { template, principal }, attempt)
}

async function carryOutBuiltin(
  services: ActionServices,
  program: PreparedAction,
  form: AnswerForm,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const { principal } = form
  const { run } = services
  let result: ActionResult | undefined
  const steps = function* () {
    result = yield* program.steps()
    return result
  }
  const reply = await carryOut(
    run,
    program,
    () => answerSteps(services, steps, undefined, form),
    principal,
    attempt,
  )
  if (program.afterCommit === undefined || result === undefined) return reply
  const committed = done(result)
  const again = () => answerSteps(services, committed.steps, undefined, form)
  await program.afterCommit()
  try {
    if (!attempt) return await carryOut(run, committed, again, principal, undefined)
    return await run.transaction({ principal, serial: undefined, steps: () => attempt.replySteps(again) })
  } catch {
    // The action is committed, and the first reply is true.
    return reply
  }
}

/** An action or a query as a transaction and its answer. */
export interface PreparedRequest {
  readonly program: PreparedAction
  readonly answer: () => ProgramSteps<Replayable>
}

/** Throws for faults that can be found before anything is read. */
export function preparedAction(
  services: ActionServices,
  { operation, id }: ActionRoute,
  call: Call,
  principal: Principal,
): PreparedRequest {
  admitOperation(services.model, operation, principal)
  const input = bodyInput(operation, call)
  return preparedRequest(services, operation, { id, input, answerQuery: call.query }, principal)
}

/** Throws for faults that can be found before anything is read. */
export function preparedQuery(
  services: ActionServices,
  { operation }: QueryRoute,
  call: Call,
  principal: Principal,
): PreparedRequest {
  admitOperation(services.model, operation, principal)
  return preparedRequest(services, operation, queryInput(operation, call.query), principal)
}

function preparedRequest(
  services: ActionServices,
  operation: Operation,
  { id, input, answerQuery }: OperationInput,
  principal: Principal,
): PreparedRequest {
  const { output } = operation
  const collection = output.kind === 'item' ? output.collection : undefined
  const template = templateOf(services, collection, answerQuery, principal)
  const program = preparedOperation(services.logic, { operation, id, input, principal })
  return { program, answer: () => answerSteps(services, program.steps, operation, { template, principal }) }
}

/** `collection`: that of the item in the answer. Undefined: the answer has no item, so the query string must be empty. */
function templateOf(
  { viewOf }: ActionServices,
  collection: string | undefined,
  query: string,
  principal: Principal,
): ItemTemplate | undefined {
  if (collection !== undefined) return parseItem(viewOf(collection, principal), query)
  refuseParameters(query)
  return undefined
}

export function refuseParameters(query: string): void {
  for (const { name } of parseQuery(query)) throw unknownParameter(name)
}

/** GET of a query: 200 with its result, 204 if it has none. */
export function answerQuery(
  services: ActionServices,
  route: QueryRoute,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  const { program, answer } = preparedQuery(services, route, call, principal)
  return carryOut(services.run, { ...program, snapshot: true }, answer, principal, undefined)
}

/** For a program without a result: 204. */
export function answerProgram(
  services: ActionServices,
  program: PreparedAction,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const answer = () => answerSteps(services, program.steps, undefined, { template: undefined, principal })
  return carryOut(services.run, program, answer, principal, attempt)
}

function carryOut(
  run: Run,
  { serial, asyncSteps, snapshot = false }: PreparedAction,
  answer: () => ProgramSteps<Replayable>,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const program = {
    principal,
    serial: snapshot ? undefined : serial,
    snapshot,
    ...(asyncSteps && { asyncSteps }),
  }
  if (attempt) return run.transaction({ ...program, steps: () => attempt.steps(answer) })
  return run.transaction({ ...program, steps: answer }).then(({ reply }) => reply)
}

interface AnswerForm {
  readonly template: ItemTemplate | undefined
  readonly principal: Principal
}

function* answerSteps(
  { logic }: ActionServices,
  steps: PreparedAction['steps'],
  operation: Operation | undefined,
  { template, principal }: AnswerForm,
): ProgramSteps<Replayable> {
  const { result, revealed = {} } = yield* steps()
  if (result.kind === 'nothing') {
    return { reply: { status: 204, headers: jsonHeaders.slice(2), body: null }, short: null, items: [] }
  }
  if (result.kind === 'absent') return absent
  if (result.kind === 'values' || template === undefined) {
    if (result.kind !== 'values' || operation === undefined) throw new ApiError('INTERNAL_ERROR')
    const { text, items } = yield* valuesBody(logic, operation, result.values, principal)
    return { reply: { status: 200, headers: jsonHeaders, body: text }, short: '{}', items }
  }
  const args = template.includes ? [result.id, includedLimit] : [result.id]
  const shape = operation === undefined ? template.shape : outputShape(template)
  const { text } = (yield planAs(principal, { shape, args })) as ReadAnswer
  return itemReply(result, text, withRevealed(text ?? idBody(result.id), revealed), template)
}

const jsonHeaders = makePresentation(true, []).unstored

const absent: Replayable = {
  reply: { status: 200, headers: jsonHeaders, body: 'null' },
  short: 'null',
  items: [],
}

const outputShapes = new WeakMap<ItemTemplate, ItemShape>()

/** One shape per template, because each shape is compiled once. */
function outputShape(template: ItemTemplate): ItemShape {
  const shape = outputShapes.get(template) ?? { ...template.shape, isOutput: true }
  outputShapes.set(template, shape)
  return shape
}

function itemReply(
  { collection, id }: { readonly collection: string; readonly id: number },
  text: string | null,
  body: string,
  template: ItemTemplate,
): Replayable {
  const reply = { status: 200, headers: template.presentation.unstored, body }
  return { reply, short: idBody(id), items: text === null ? [] : [{ collection, id }] }
}
