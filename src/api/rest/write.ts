/** POST, PUT, PATCH and DELETE → plans; their answers → responses. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { entityTag, readIfMatch } from '../../base/conditional.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { type KeyedAttempt, type Replayable, writeOnce } from '../../engine/idempotency/idempotency.ts'
import type { WriteAnswer } from '../../engine/plan/answer.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import {
  type Assignment,
  type CardinalityLimit,
  type CreateShape,
  type DeleteShape,
  includedLimit,
  type Plan,
  type UpdateShape,
  type WriteShape,
} from '../../engine/plan/plan.ts'
import {
  type CreateHooks,
  type Creation,
  emptyCreation,
  type Run,
  writeStep,
  writeWith,
} from '../../engine/plan/run.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { bodyValidator } from '../../model/validate.ts'
import { readBody } from './body.ts'
import type { CollectionView, CreateForm, ItemTemplate } from './query/collection-view.ts'
import { parseItem } from './query/item.ts'
import { parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import { prefix } from './routes.ts'

type BodyValues = Readonly<Record<string, JsonValue>>

export interface WriteServices {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  /** The public URL of the service, without a trailing slash: the server in the OpenAPI document, and in links. */
  readonly baseUrl: string | undefined
  /** Draws further requests from the caller's budget. Throws RATE_LIMITED if fewer remain. Omitted: there are no budgets. */
  readonly draw?: ((call: Call, principal: Principal, requests: number) => Awaitable<undefined>) | undefined
}

export const json: readonly string[] = ['application/json']
/** The media types of a PATCH. */
export const mergePatch: readonly string[] = ['application/json', 'application/merge-patch+json']

/** The fields that the body sets, in the model's order: bodies with the same fields share a shape. */
function assignedFields({ collection }: CollectionView, values: BodyValues): readonly string[] {
  return [...collection.fields.keys()].filter(name => Object.hasOwn(values, name))
}

function assign(names: readonly string[], first: number): readonly Assignment[] {
  return names.map((field, index) => ({ field, param: first + index }))
}

function shapeOf<S extends WriteShape>(view: CollectionView, key: string, make: () => S): S {
  const cached = view.writes.get(key)
  // Safe: the key begins with the shape's kind.
  if (cached) return cached as S
  const shape = make()
  view.writes.set(key, shape)
  return shape
}

function refuseIfNoneMatch(call: Call): void {
  if (call.headers['if-none-match'] === undefined) return
  throw new ApiError(
    'BAD_REQUEST',
    `If-None-Match can only be used with GET and HEAD; with ${call.method}, send If-Match.`,
  )
}

/** The JSON text of an item, with the secrets that only this response contains. */
export function withRevealed(text: string, revealed: BodyValues): string {
  if (revealed === emptyCreation.revealed) return text
  const added = JSON.stringify(revealed)
  if (added === '{}') return text
  return text === '{}' ? added : `${text.slice(0, -1)},${added.slice(1)}`
}

/** The body for a caller who may not see the item. */
export function idBody(id: number): string {
  return `{"id":${id}}`
}

/** The item; only its id for a caller who may not see it. */
function bodyOf(answer: WriteAnswer): string {
  return answer.text ?? idBody(answer.id)
}

/**
 * Runs a write. With an `Idempotency-Key`, the write's transaction calls `reply` and stores the result, so `reply` must be
 * pure. Without one, it is on the hot path: it only calls `run.write`.
 */
export function carryOut(
  run: Run,
  { plan, reply }: PreparedWrite,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
  afterwards?: Creation['afterwards'],
): Promise<Reply> {
  const within = afterwards && writeWith(afterwards)
  if (!attempt) return run.write(plan, principal, within).then(reply)
  return writeOnce(run, principal, attempt, plan, function* (settledPlan) {
    const answer = yield* (within ?? writeStep)(settledPlan)
    return [answer, replayable(settledPlan, answer, reply(answer))]
  })
}

function replayable({ shape }: Plan<WriteShape>, { id, text }: WriteAnswer, reply: Reply): Replayable {
  const { body } = reply
  if (typeof body !== 'string') return { reply, short: null, items: [] }
  const item = { collection: shape.collection, id, at: [0, body.length] as const }
  return { reply, short: idBody(id), items: text === null ? [] : [item] }
}

/** The headers of the response, with the deprecations of the fields that the body sets. */
export function headersFor(view: CollectionView, template: ItemTemplate, names: readonly string[]) {
  const written = names.flatMap(name => view.collection.fields.get(name)?.deprecated ?? [])
  if (written.length === 0) return template.presentation.unstored
  return makePresentation(true, [...template.deprecations, ...written]).unstored
}

function makeCreateForm(
  view: CollectionView,
  template: ItemTemplate,
  values: BodyValues,
  computed: readonly string[],
  limit: CardinalityLimit | undefined,
): CreateForm {
  const names = assignedFields(view, values)
  const key = `create ${names.join(' ')}|${computed.join(' ')}|${JSON.stringify(template.shape.select)}`
  const shape = shapeOf<CreateShape>(view, key, () => ({
    kind: 'create',
    collection: view.collection.name,
    set: assign(names, 2),
    computed: assign(computed, 2 + names.length),
    limit,
    select: template.shape.select,
  }))
  return { names, computed, shape, headers: headersFor(view, template, names) }
}

function createForm(
  view: CollectionView,
  template: ItemTemplate,
  values: BodyValues,
  creation: Creation,
): CreateForm {
  const computed = Object.keys(creation.computed)
  let key = computed.join(' ')
  for (const name in values) key += `,${name}`
  const cached = template.creates.get(key)
  if (cached) return cached
  const form = makeCreateForm(view, template, values, computed, creation.limit)
  template.creates.set(key, form)
  return form
}

/** A parsed request: its plan, and the reply to the answer. */
export interface PreparedWrite {
  readonly plan: Plan<WriteShape>
  readonly reply: (answer: WriteAnswer) => Reply
}

/** A create with validated values. */
export function preparedCreate(
  view: CollectionView,
  template: ItemTemplate,
  values: BodyValues,
  creation: Creation = emptyCreation,
): PreparedWrite {
  const { names, computed, shape, headers } = createForm(view, template, values, creation)
  const args: JsonValue[] = [null, includedLimit]
  for (const name of names) args.push(values[name] ?? null)
  for (const name of computed) args.push(creation.computed[name] ?? null)
  return {
    plan: { shape, args },
    reply(answer) {
      const body = withRevealed(bodyOf(answer), creation.revealed)
      const location = `${prefix}/${view.collection.name}/${answer.id}`
      const hasTag = template.isDefault && body === answer.text
      return {
        status: 201,
        headers: hasTag
          ? [...headers, 'Location', location, 'ETag', entityTag(body)]
          : [...headers, 'Location', location],
        body,
      }
    },
  }
}

/** A POST of one item to a collection without a hook. */
export function prepareCreate(
  model: Model,
  view: CollectionView,
  call: Call,
  principal: Principal,
): PreparedWrite {
  admit(model, view.collection, 'create', principal.access)
  const template = parseItem(view, call.query)
  const { values } = bodyValidator(view.collection).create(readBody(call, json))
  return preparedCreate(view, template, values)
}

/** PUT (all writable fields) and PATCH (RFC 7396): 200 with the item. */
export function prepareUpdate(
  model: Model,
  view: CollectionView,
  id: number,
  call: Call,
  principal: Principal,
): PreparedWrite {
  admit(model, view.collection, 'update', principal.access)
  refuseIfNoneMatch(call)
  const mode = call.method === 'PUT' ? 'replace' : 'merge'
  const template = parseItem(view, call.query)
  const ifMatch = readIfMatch(call.headers['if-match'])
  const body = readBody(call, mode === 'merge' ? mergePatch : json)
  const { values } = bodyValidator(view.collection)[mode](body)
  const names = assignedFields(view, values)
  const matchKey = ifMatch === undefined ? '' : 'match'
  const key = `update ${mode} ${matchKey} ${names.join(' ')}|${JSON.stringify(template.shape.select)}`
  const shape = shapeOf<UpdateShape>(view, key, () => ({
    kind: 'update',
    mode,
    collection: view.collection.name,
    id: 0,
    set: assign(names, 3),
    documents: mode,
    ifMatch: ifMatch === undefined ? undefined : 2,
    select: template.shape.select,
  }))
  return {
    plan: { shape, args: [id, includedLimit, ifMatch ?? null, ...names.map(name => values[name] ?? null)] },
    reply(answer) {
      const text = bodyOf(answer)
      const headers = headersFor(view, template, names)
      const tag = template.isDefault && answer.text !== null ? ['ETag', entityTag(text)] : []
      return { status: 200, headers: [...headers, ...tag], body: text }
    },
  }
}

/** DELETE: 204. */
export function prepareDelete(
  model: Model,
  view: CollectionView,
  id: number,
  call: Call,
  principal: Principal,
): PreparedWrite {
  admit(model, view.collection, 'delete', principal.access)
  refuseIfNoneMatch(call)
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const ifMatch = readIfMatch(call.headers['if-match'])
  const shape = shapeOf<DeleteShape>(view, ifMatch === undefined ? 'delete' : 'delete match', () => ({
    kind: 'delete',
    collection: view.collection.name,
    id: 0,
    ifMatch: ifMatch === undefined ? undefined : 1,
  }))
  // A response without content has no media type.
  const { deprecated } = view.collection
  const headers = makePresentation(true, deprecated ? [deprecated] : []).unstored.slice(2)
  return {
    plan: { shape, args: [id, ifMatch ?? null] },
    reply: () => ({ status: 204, headers, body: null }),
  }
}

/** PUT, PATCH and DELETE of one item. */
export function answerChange(
  { model, run }: WriteServices,
  view: CollectionView,
  id: number,
  call: Call,
  principal: Principal,
  attempt?: KeyedAttempt,
): Promise<Reply> {
  const prepare = call.method === 'DELETE' ? prepareDelete : prepareUpdate
  return carryOut(run, prepare(model, view, id, call, principal), principal, attempt)
}
