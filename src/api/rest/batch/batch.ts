/** POST /api/v1/batch: several operations in one transaction, each with the rules and the answer of a separate request. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call, Reply } from '../../../base/call.ts'
import type { Principal } from '../../../base/principal.ts'
import {
  type KeyedAttempt,
  KeyTaken,
  type Replayable,
  type ShownItem,
} from '../../../engine/idempotency/idempotency.ts'
import { qualifiedName } from '../../../engine/logic/operations/call.ts'
import type { WriteAnswer } from '../../../engine/plan/answer.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type {
  AsyncSteps,
  CollectionUses,
  ProgramPlan,
  ProgramSteps,
  StepAnswer,
} from '../../../engine/plan/transaction.ts'
import { readBody } from '../body.ts'
import { faultAt } from '../place.ts'
import { parseQuery, unknownParameter } from '../query/query-string.ts'
import { makePresentation } from '../reply/headers.ts'
import { batchedKind } from '../route-kinds.ts'
import { prefix, type Route } from '../routes.ts'
import type { RestServices } from '../services.ts'
import { idBody, json } from '../write.ts'
import { addCollections } from './collections.ts'
import { type BatchOperation, parseOperations } from './operations.ts'
import type { Prepared } from './prepare.ts'
import { Results, resolveBody, resolvePath } from './references.ts'
import { admittedRoute, check, prepare } from './requests.ts'

/** 200 with the results in order. Throws the first operation's fault, with its index. */
export function answerBatch(
  services: RestServices,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Awaitable<Reply> {
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const operations = parseOperations(readBody(call, json))
  const furtherOperations = operations.length - 1
  const budgetDrawn = furtherOperations > 0 ? services.draw?.(call, principal, furtherOperations) : undefined
  return then(budgetDrawn, () => new Batch({ services, call, principal, attempt }, operations).run())
}

interface PlannedOperation {
  readonly operation: BatchOperation
  readonly route: Route
  /** Undefined: it has references, so it is prepared once the results that they name are known. */
  readonly prepared: Prepared | undefined
}

interface BatchParts {
  readonly services: RestServices
  readonly call: Call
  readonly principal: Principal
  readonly attempt: KeyedAttempt | undefined
}

class Batch {
  readonly #parts: BatchParts
  readonly #planned: readonly PlannedOperation[]
  /** The index of the current operation. */
  #index = 0

  constructor(parts: BatchParts, operations: readonly BatchOperation[]) {
    this.#parts = parts
    this.#planned = operations.map((operation, index) => {
      this.#index = index
      try {
        return this.#plan(operation)
      } catch (error) {
        throw this.#fault(error)
      }
    })
  }

  async run(): Promise<Reply> {
    const { services, call, principal } = this.#parts
    const further = this.#furtherRequests()
    if (further > 0) await services.draw?.(call, principal, further)
    const isRead = this.#planned.every(({ operation }) => operation.method === 'GET')
    const asyncSteps = this.#asyncSteps()
    const program = {
      ...(asyncSteps && { asyncSteps }),
      ...(isRead ? { serial: undefined, snapshot: true } : { serial: this.#uses() }),
      principal,
      steps: () => this.#steps(isRead),
    }
    try {
      return await services.run.transaction(program)
    } catch (error) {
      throw error instanceof KeyTaken ? error : this.#fault(error)
    }
  }

  /** The requests that the operations draw from the budget besides one each. */
  #furtherRequests(): number {
    let further = 0
    for (const { prepared } of this.#planned) {
      if (prepared && 'plan' in prepared) further += prepared.furtherRequests ?? 0
    }
    return further
  }

  *#steps(isRead: boolean): ProgramSteps<Reply> {
    const { attempt } = this.#parts
    // Reads have no effect, so they can be repeated without a record.
    if (attempt === undefined || isRead) return (yield* this.#results()).reply
    return yield* attempt.steps(() => this.#results())
  }

  *#results(): ProgramSteps<Replayable> {
    const results = new Results()
    const texts: string[] = []
    const short: string[] = []
    const items: ShownItem[] = []
    const bound = new AnswerBound(this.#parts.services.logic.limits.answers, 'writeBytes')
    let end = resultsBody([]).length - 2
    for (const [index, { operation, prepared: preparedEarly }] of this.#planned.entries()) {
      this.#index = index
      const {
        reply,
        short: shortBody,
        items: shownItems,
      } = yield* answerOf(preparedEarly ?? this.#resolved(operation, results))
      const { status, body } = reply
      const text = typeof body === 'string' ? body : null
      const result = resultText(status, text)
      texts.push(result)
      end += result.length + (index > 0 ? 1 : 0)
      short.push(resultText(status, shortBody))
      if (text !== null) for (const item of shownItems) items.push(shifted(item, end - 1 - text.length))
      bound.add(text)
      if (operation.as !== undefined) results.add(operation.as, text)
    }
    const { unstored } = makePresentation(true, [])
    const reply = { status: 200, headers: unstored, body: resultsBody(texts) }
    return { reply, short: resultsBody(short), items }
  }

  /** Checks what can be checked of the operation without the results of others. */
  #plan(operation: BatchOperation): PlannedOperation {
    const { path, awaits } = operation
    const { services, principal } = this.#parts
    const body = awaits ? operation.body : resolveBody(operation.body, new Results())
    const call = this.#callOf(operation, resolvePath(path), body)
    const route = admittedRoute(services, call, principal)
    if (awaits) {
      check(services, route, call, principal)
      return { operation, route, prepared: undefined }
    }
    const prepared = prepare(services, route, call, principal)
    return { operation, route, prepared: path.includes('$') ? undefined : prepared }
  }

  #resolved(operation: BatchOperation, results: Results): Prepared {
    const path = resolvePath(operation.path, results)
    const body = resolveBody(operation.body, results)
    const { services, principal } = this.#parts
    const call = this.#callOf(operation, path, body)
    return prepare(services, admittedRoute(services, call, principal), call, principal)
  }

  #callOf({ method, query, ifMatch }: BatchOperation, path: string, body: unknown): Call {
    const { address, requestId } = this.#parts.call
    const fullPath = `${prefix}${path}`
    return {
      method,
      url: query === '' ? fullPath : `${fullPath}?${query}`,
      path: fullPath,
      query,
      headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
      address,
      requestId,
      body: Buffer.alloc(0),
      parsed: { body },
    }
  }

  #uses(): CollectionUses {
    const { model } = this.#parts.services
    const reads = new Set<string>()
    const writes = new Set<string>()
    const deletes = new Set<string>()
    for (const { operation, route } of this.#planned) {
      addCollections(model, route, operation.query, reads)
      if (operation.method === 'GET') continue
      const changes = operation.method === 'DELETE' ? deletes : writes
      const [changed] = batchedKind(route).collections(model, route)
      if (changed !== undefined) changes.add(changed.name)
    }
    return { reads: [...reads], writes: [...writes], deletes: [...deletes] }
  }

  /** The actions and queries among the operations. */
  #asyncSteps(): AsyncSteps | undefined {
    const places = this.#planned.flatMap(({ route }) => {
      const operation = batchedKind(route).operation(route)
      return operation === undefined ? [] : qualifiedName(operation)
    })
    const { tries, timeMs: limitMs } = this.#parts.services.logic.limits
    return places.length === 0 ? undefined : { places, tries, limitMs }
  }

  #fault(error: unknown): unknown {
    const place = `operations[${this.#index}]`
    return faultAt(error, place, `${place}.body`)
  }
}

function resultText(status: number, body: string | null): string {
  return `{"status":${status},"body":${body}}`
}

function resultsBody(texts: readonly string[]): string {
  return `{"results":[${texts.join(',')}]}`
}

/** The answer of a separate request. */
function* answerOf(prepared: Prepared): ProgramSteps<Replayable> {
  if ('answer' in prepared) return yield* prepared.answer()
  const { plan } = prepared
  const answer = yield plan
  const reply = prepared.reply(answer)
  const { body } = reply
  const item = typeof body === 'string' ? itemOf(plan, answer) : undefined
  if (item === undefined || typeof body !== 'string') return { reply, short: null, items: [] }
  return { reply, short: idBody(item.id), items: [{ ...item, at: [0, body.length] }] }
}

/** The item's place in the body of the batch, in which the operation's body begins at `start`. */
function shifted({ at, ...item }: ShownItem, start: number): ShownItem {
  return at === undefined ? item : { ...item, at: [start + at[0], start + at[1]] }
}

/** The item that a step has read, created or updated. */
function itemOf({ shape, args }: ProgramPlan, answer: StepAnswer): Omit<ShownItem, 'at'> | undefined {
  if (shape.kind === 'item') return { collection: shape.collection, id: Number(args[shape.id]) }
  if (shape.kind !== 'create' && shape.kind !== 'update') return undefined
  return { collection: shape.collection, id: (answer as WriteAnswer).id }
}
