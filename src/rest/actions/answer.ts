/** Runs actions, and reads items within others. */
import type { Call, Reply } from '../../call.ts'
import { ApiError } from '../../errors.ts'
import type { KeyedAttempt, Replayable } from '../../idempotency.ts'
import type { Collection, Model } from '../../model/model.ts'
import { type Awaitable, type ReadAnswer, then } from '../../plan/answer.ts'
import type { ItemShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { itemShape } from '../../plan/system-plans.ts'
import type { ProgramSteps } from '../../plan/transaction.ts'
import type { Principal } from '../../principal.ts'
import type { CollectionView, ItemTemplate } from '../query/collection-view.ts'
import { parseItem } from '../query/item.ts'
import { includedLimit } from '../query/select.ts'
import { withRevealed } from '../write.ts'
import type { ActionResult, ItemActions, PreparedAction } from './action.ts'
import { admitAction } from './admission.ts'
import type { ActionRoute, NestedRoute } from './routes.ts'

export interface ActionServices {
  readonly model: Model
  readonly run: Run
  readonly actions: ItemActions
}

const shapes = new Map<string, ItemShape>()

/** One per collection and field, because each shape is compiled once. */
function shapeOf({ name }: Pick<Collection, 'name'>, field: string): ItemShape {
  const key = `${name} ${field}`
  const made = shapes.get(key) ?? itemShape(name, [field])
  shapes.set(key, made)
  return made
}

/** Throws NOT_FOUND unless the caller may read the item. */
function requireItem(run: Run, { collection, id }: ActionRoute, principal: Principal): Awaitable<void> {
  return then(run.item({ shape: shapeOf(collection, 'id'), args: [id] }, principal), ({ text }) => {
    if (text === null) throw new ApiError('NOT_FOUND')
  })
}

type Nested = Omit<NestedRoute, 'kind'>

/** Throws NOT_FOUND unless the caller may read the item, and it belongs to the one that the path names. */
export function requireNested(
  run: Run,
  { id, relation, nested }: Nested,
  principal: Principal,
): Awaitable<void> {
  if (relation.kind !== 'many') throw new ApiError('NOT_FOUND')
  const shape = shapeOf({ name: relation.target }, relation.field)
  return then(run.item({ shape, args: [nested] }, principal), ({ text }) => {
    const parent = text === null ? undefined : JSON.parse(text)[relation.field]
    if (parent !== id) throw new ApiError('NOT_FOUND')
  })
}

/** An action takes nothing. Some clients send an empty object with every POST. */
function refuseBody({ body }: Call): void {
  if (body.length === 0 || body.toString('latin1').trim() === '{}') return
  throw new ApiError('BAD_REQUEST', 'This action takes no body. Leave it out.')
}

/** POST to an action: 200 with the item that it answers with. */
export async function answerAction(
  { model, run, actions }: ActionServices,
  route: ActionRoute,
  view: CollectionView,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  admitAction(model, route, principal)
  const template = parseItem(view, call.query)
  refuseBody(call)
  await requireItem(run, route, principal)
  if (route.within) await requireNested(run, route.within, principal)
  const action = actions.get(route.collection.name)?.get(route.action.name)
  if (action === undefined) throw new ApiError('NOT_FOUND')
  const prepared = await action({ id: route.id, nested: route.within?.nested }, principal)
  return carryOut(run, prepared, template, principal, attempt)
}

function carryOut(
  run: Run,
  { serial, steps }: PreparedAction,
  template: ItemTemplate,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const made = function* (): ProgramSteps<Replayable> {
    const result = yield* steps()
    const args = template.includes ? [result.id, includedLimit] : [result.id]
    const { text } = (yield { shape: template.shape, args }) as ReadAnswer
    return replayable(result, text, template)
  }
  if (attempt) return run.transaction({ principal, serial, steps: () => attempt.steps(made) })
  return run.transaction({ principal, serial, steps: made }).then(({ reply }) => reply)
}

function replayable(
  { collection, id, revealed = {} }: ActionResult,
  text: string | null,
  template: ItemTemplate,
): Replayable {
  if (text === null) throw new ApiError('NOT_FOUND')
  const reply = { status: 200, headers: template.presentation.unstored, body: withRevealed(text, revealed) }
  return { reply, short: `{"id":${id}}`, items: [{ collection, id }] }
}
