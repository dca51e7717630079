/** POST of an array to a collection: creates all of its items in one transaction, or none. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError, type FieldFault } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import {
  type KeyedAttempt,
  KeyTaken,
  type Replayable,
  type ShownItem,
} from '../../engine/idempotency/idempotency.ts'
import type { WriteAnswer } from '../../engine/plan/answer.ts'
import { requirePlain } from '../../engine/plan/plain-writes.ts'
import type { ProgramSteps } from '../../engine/plan/transaction.ts'
import { bodyValidator } from '../../model/validate.ts'
import { memberNames } from './body.ts'
import { faultAt } from './place.ts'
import type { CollectionView, ItemTemplate } from './query/collection-view.ts'
import { headersFor, idBody, type PreparedWrite, preparedCreate, type WriteServices } from './write.ts'

export const maxBulkItems = 1000
/** The number of items that draw one request from the budget. */
const itemsPerRequest = 20
/** As for a single body. */
const maxFaults = 100

/** 201 with `{"data":[…]}`. Throws VALIDATION_FAILED with the faults of all items, named `[3].title`. */
export function answerBulk(
  services: WriteServices,
  view: CollectionView,
  template: ItemTemplate,
  items: readonly unknown[],
  call: Call,
  principal: Principal,
  attempt?: KeyedAttempt,
): Awaitable<Reply> {
  requireCount(items)
  const requests = Math.ceil(items.length / itemsPerRequest)
  const budgetDrawn = requests > 1 ? services.draw?.(call, principal, requests - 1) : undefined
  return then(budgetDrawn, () => {
    const writes = preparedItems(services, view, template, items, principal)
    return createAll(services, writes, principal, headersOf(view, template, items), attempt)
  })
}

function requireCount(items: readonly unknown[]): void {
  if (items.length === 0) throw new ApiError('BAD_REQUEST', 'The array is empty: send at least one item.')
  if (items.length <= maxBulkItems) return
  const [count, limit] = [items.length, maxBulkItems].map(number => number.toLocaleString('en'))
  throw new ApiError('BAD_REQUEST', `The array has ${count} items; at most ${limit} are allowed.`)
}

function preparedItems(
  { hooks }: WriteServices,
  view: CollectionView,
  template: ItemTemplate,
  items: readonly unknown[],
  principal: Principal,
): readonly PreparedWrite[] {
  const { collection } = view
  const validate = bodyValidator(collection).create
  const writes: PreparedWrite[] = []
  const faults: FieldFault[] = []
  requirePlain({ collection, operation: 'create', sets: fieldsIn(items), principal, hooks })
  for (const [index, item] of items.entries()) {
    if (faults.length >= maxFaults) break
    try {
      writes.push(preparedCreate(view, template, validate(item).values))
    } catch (error) {
      faults.push(...faultsOf(faultAt(error, `[${index}]`, `[${index}]`)))
    }
  }
  if (faults.length > 0) throw refusal(faults.slice(0, maxFaults))
  return writes
}

/** Rethrows an error without details, which is not a fault of an item. */
function faultsOf(error: unknown): readonly FieldFault[] {
  if (error instanceof ApiError && error.details) return error.details
  throw error
}

function refusal(faults: readonly FieldFault[]): ApiError {
  const count = faults.length < maxFaults ? faults.length : `at least ${maxFaults}`
  const [first] = faults
  const firstFault = `${first?.field}: ${first?.message}`
  const message = faults.length > 1 ? `The array has ${count} faults. ${firstFault}` : firstFault
  return new ApiError('VALIDATION_FAILED', message, { details: faults })
}

function headersOf(
  view: CollectionView,
  template: ItemTemplate,
  items: readonly unknown[],
): () => readonly string[] {
  return () => headersFor(view, template, fieldsIn(items))
}

/** The names of the fields that at least one item sets. */
function fieldsIn(items: readonly unknown[]): readonly string[] {
  return [...new Set(items.flatMap(memberNames))]
}

function dataOf(bodies: readonly string[]): string {
  return `{"data":[${bodies.join(',')}]}`
}

function replayable(
  writes: readonly PreparedWrite[],
  answers: readonly WriteAnswer[],
  bodies: readonly string[],
  headers: readonly string[],
): Replayable {
  const items: ShownItem[] = []
  let from = dataOf([]).length - 2
  for (const [index, { id, text }] of answers.entries()) {
    const to = from + (bodies[index]?.length ?? 0)
    const collection = writes[index]?.plan.shape.collection
    if (collection !== undefined && text !== null) items.push({ collection, id, at: [from, to] })
    from = to + 1
  }
  const reply = { status: 201, headers, body: dataOf(bodies) }
  return { reply, short: dataOf(answers.map(({ id }) => idBody(id))), items }
}

async function createAll(
  { run }: WriteServices,
  writes: readonly PreparedWrite[],
  principal: Principal,
  headers: () => readonly string[],
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  let index = 0
  function* created(): ProgramSteps<Replayable> {
    const plans = writes.map(({ plan }) => plan)
    const onFailure = (failedIndex: number) => {
      index = failedIndex
    }
    // The answers to writes are `WriteAnswer`s.
    const answers = (yield { kind: 'independentWrites', writes: plans, onFailure }) as readonly WriteAnswer[]
    const bodies = answers.map((answer, i) => String(writes[i]?.reply(answer).body))
    return replayable(writes, answers, bodies, headers())
  }
  function* steps(): ProgramSteps<Reply> {
    return attempt ? yield* attempt.steps(created) : (yield* created()).reply
  }
  try {
    return await run.transaction({ serial: {}, principal, steps })
  } catch (error) {
    throw error instanceof KeyTaken ? error : faultAt(error, `[${index}]`, `[${index}]`)
  }
}
