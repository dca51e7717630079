/** Subscriptions: a change of an item becomes the reply to it. */
import type { GraphQLFormattedError } from 'graphql'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { eventType } from '../../../engine/log/event-types.ts'
import { emittedShape } from '../../../engine/logic/operations/input.ts'
import type { CompositeAnswer, RenderedAnswer } from '../../../engine/plan/answer.ts'
import type { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { ChangeKind, LoggedChange } from '../../../engine/plan/change-feed.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { unlessTooLarge } from '../../events/large-event.ts'
import type { EventViews } from '../../events/show-event.ts'
import type { ChangeRenderer, Topic } from '../../events/subscriber.ts'
import type { OnError, OnFault, RequestErrorResult } from '../engine.ts'
import { placeOf, type ReplyField } from '../plan/reply-fields.ts'
import { accessItemKey, valuesKey } from '../plan/subscription-plan.ts'
import type { SubscriptionVariant } from '../plan/variant.ts'
import { executed, refused, withEventId } from '../response.ts'
import type { SubscriptionField } from '../schema/directory.ts'
import { typeName } from '../schema/names.ts'
import { nodePrefix } from '../schema/node-id.ts'
import { byPlace, Completion, type ReplyObject } from './completion.ts'
import { graphqlValues } from './graphql-values.ts'
import { replySize } from './reply-size.ts'

export interface BoundSubscription {
  readonly variant: SubscriptionVariant
  readonly args: readonly JsonValue[]
  readonly cost: number
}

interface RendererParts {
  readonly run: Run
  readonly views: EventViews
  readonly onFault: OnFault
  readonly onError?: OnError | undefined
  /** Of the reply to an event. */
  readonly answerBound: AnswerBound
}

/** The reply rendered from an answer and cached with it. `reply`: null if the principal may not see the item. */
interface RenderedReply extends RenderedAnswer {
  readonly reply: string | null
}

/** Returns a request error if the principal may never see what the subscription selects. */
export function createRenderer(
  parts: RendererParts,
  bound: BoundSubscription,
  principal: Principal,
): ChangeRenderer | RequestErrorResult {
  const { shape, replyField } = bound.variant
  const refusals = byPlace(parts.run.refusals({ shape, args: bound.args }, principal))
  const refusal = refusals.get(replyField.place ?? placeOf([replyField.key]))
  if (refusal) {
    parts.onError?.(refusal, [replyField.key])
    return refused([refusedField(refusal, replyField.key)])
  }
  return new Renderer(parts, bound, principal)
}

class Renderer implements ChangeRenderer {
  readonly topics: readonly Topic[]
  readonly #parts: RendererParts
  readonly #bound: BoundSubscription
  readonly #principal: Principal

  constructor(parts: RendererParts, bound: BoundSubscription, principal: Principal) {
    this.#parts = parts
    this.#bound = bound
    this.#principal = principal
    const { kind, collection } = bound.variant.entry
    this.topics = kindsOf(kind).map(changeKind => ({ collection: collection.name, kind: changeKind }))
  }

  /** A reply that is too large is an error of its event: the subscription continues with the next one. */
  render(change: LoggedChange): Awaitable<string | null> {
    const { cost } = this.#bound
    return unlessTooLarge<string | null>(
      () => this.#renderChange(change),
      ({ message, code }) => {
        const { text } = executed('null', [{ message, extensions: { code } }], cost)
        return withEventId(text, change.event)
      },
    )
  }

  #renderChange(change: LoggedChange): Awaitable<string | null> {
    const { entry } = this.#bound.variant
    if (entry.kind === 'emitted') return change.type === entry.event.type ? this.#renderEmitted(change) : null
    if (change.kind !== 'updated') return this.#renderItem(change)
    // An event that an action emitted is not a change of the item.
    if (change.values !== null) return null
    const { collection, kind } = entry
    return then(this.#parts.views.show(change, this.#principal), event => {
      if (event === null) return null
      const hasLeft = event.type === eventType(collection, 'deleted')
      if (hasLeft !== (kind === 'deleted')) return null
      return hasLeft ? this.#renderDeparture(change) : this.#renderItem(change)
    })
  }

  #read(change: LoggedChange): Awaitable<CompositeAnswer> {
    const { variant, args } = this.#bound
    const plan = { shape: variant.shape, args: argsFor(change, args, variant) }
    return this.#parts.run.composite(plan, this.#principal)
  }

  #renderItem(change: LoggedChange): Awaitable<string | null> {
    return then(this.#read(change), answer => {
      const { reply } = this.#renderAnswer(answer)
      return reply === null ? null : withEventId(reply, change.event)
    })
  }

  /** Not cached with the answer: events about the same row have different values. */
  #renderEmitted(change: LoggedChange): Awaitable<string | null> {
    const { entry, replyField } = this.#bound.variant
    if (entry.kind !== 'emitted') return null
    return then(this.#read(change), ({ text }) => {
      const data: ReplyObject = JSON.parse(text)
      if (data[accessItemKey] === null) return null
      const values = graphqlValues(emittedShape(entry.event), change.values ?? {})
      const payload = { ...data, [valuesKey]: values }
      const reply = this.#complete({ [replyField.source]: payload })
      this.#parts.answerBound.require(reply)
      return withEventId(reply, change.event)
    })
  }

  /** Cached without the event's id, because several changes can lead to the same answer. */
  #renderAnswer(answer: CompositeAnswer): RenderedReply {
    const cached = answer.rendered as RenderedReply | undefined
    if (cached) return cached
    const { replyField } = this.#bound.variant
    const data: ReplyObject = JSON.parse(answer.text)
    const reply = data[replyField.source] === null ? null : this.#complete(data)
    const rendered: RenderedReply = { reply, bytes: 2 * (reply?.length ?? 0) }
    answer.rendered = rendered
    return rendered
  }

  /** The reply for an item that the subscriber may no longer read: only its identity. */
  #renderDeparture({ id, event }: LoggedChange): string {
    const { replyField, entry } = this.#bound.variant
    const type = typeName(entry.collection)
    const identity = new Map([
      [`${type}.id`, String(id)],
      [`${type}.nodeId`, nodePrefix(type) + id],
    ])
    return withEventId(this.#complete({ [replyField.source]: identityValues(replyField, identity) }), event)
  }

  #complete(data: ReplyObject): string {
    const { variant, args, cost } = this.#bound
    const { run, onFault } = this.#parts
    const refusals = byPlace(run.refusals({ shape: variant.shape, args }, this.#principal))
    const size = replySize([variant.replyField], this.#parts.answerBound)
    const completion = new Completion(refusals, args, { onFault }, size)
    return completion.reply(cost, () => completion.object([variant.replyField], data, undefined)).text
  }
}

/** An update can remove an item from the subscriber's view. Events that actions emit are logged as updates without changes. */
function kindsOf(kind: SubscriptionField['kind']): readonly ChangeKind[] {
  if (kind === 'emitted') return ['updated']
  return kind === 'deleted' ? ['deleted', 'updated'] : [kind]
}

/** The values of an object's fields, by the fields' names. */
function identityValues(object: ReplyField, values: ReadonlyMap<string, string>): ReplyObject {
  if (object.kind !== 'object') return {}
  return Object.fromEntries(
    object.children.flatMap(({ name, source }) => {
      const value = values.get(name)
      return value === undefined ? [] : [[source, value]]
    }),
  )
}

function argsFor(
  change: LoggedChange,
  args: readonly JsonValue[],
  { id, event }: SubscriptionVariant,
): readonly JsonValue[] {
  const filledArgs = [...args]
  filledArgs[id] = change.id
  filledArgs[event.row] = change.row
  filledArgs[event.facts] = change.facts
  filledArgs[event.at] = change.at
  return filledArgs
}

function refusedField({ message, code }: ApiError, key: string): GraphQLFormattedError {
  return { message, path: [key], extensions: { code } }
}
