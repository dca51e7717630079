/**
 * Shows a logged change as the event that one listener gets, or nothing. The event is computed from two views: the item
 * before the change and after it, each as this listener may read it now. It discloses nothing that reading the item before
 * and after the change would not.
 */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import { eventActor, eventType, typeOf } from '../../engine/log/event-types.ts'
import type { CompositeAnswer, RenderedAnswer } from '../../engine/plan/answer.ts'
import { defaultAnswerLimits, isLarger } from '../../engine/plan/answer-bound.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { CompositeShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Collection, EmittedEvent, Model } from '../../model/model.ts'
import type { Rule } from '../../model/rule/rule.ts'
import {
  actorShapes,
  argumentsFor,
  createEventShapes,
  type EventFilter,
  type EventShapes,
} from './event-shapes.ts'
import { type Difference, readLargeDifference, unlessTooLarge, type Views } from './large-event.ts'

/** An event as it is sent. */
export interface ShownEvent {
  /** E.g. `post.updated`. An update that takes the item from the listener's view is a `post.deleted`. */
  readonly type: string
  /** The event as JSON text. */
  readonly text: string
}

export interface EventViews {
  /**
   * The event of a change for a principal with its present rights; null if the principal may not know of the change, or may
   * not read the collection at all. `filter` narrows the view: an item that no longer fulfils it leaves the view. Fails
   * with UNAVAILABLE during a database outage.
   */
  show(change: LoggedChange, principal: Principal, filter?: EventFilter): Awaitable<ShownEvent | null>
  /**
   * Throws the guard's refusal if the principal may never see an event of the collection through this filter:
   * UNAUTHORIZED, FORBIDDEN or INSUFFICIENT_SCOPE.
   */
  require(collection: Collection, principal: Principal, filter?: EventFilter): void
}

/** Cached with the answer from which it was computed, for all listeners that get the same answer. */
interface RenderedEvents extends RenderedAnswer {
  /** The change that was rendered: changes with equal answers have different event ids. */
  readonly change: LoggedChange
  readonly difference: Difference | null
  /** Without the actor, and with the actor. */
  readonly events: [ShownEvent | undefined, ShownEvent | undefined]
}

/** `maxBytes`: of an event. A larger one has no data. */
export function createEventViews(
  model: Model,
  run: Run,
  maxBytes: number = defaultAnswerLimits.readBytes,
): EventViews {
  const shapesOf = createEventShapes(model)
  return {
    require(collection, principal, filter) {
      const { row: shape } = shapesOf(collection, principal.access, filter)
      const [refusal] = run.refusals({ shape, args: [] }, principal)
      if (refusal) throw refusal.error
    },
    show(change, principal, filter) {
      const collection = model.collections.get(change.collection)
      if (!collection) return null
      const emitted = change.type === null ? undefined : collection.emits?.get(change.type)
      const shapes = shapesOf(collection, principal.access, filter, ruleOf(emitted))
      const shape = change.before === null ? shapes.row : shapes.rows
      const args = argumentsFor(change, filter?.args ?? [])
      const read = (readShape: CompositeShape) => run.composite({ shape: readShape, args }, principal)
      const small = () =>
        then(read(shape), answer => renderedOf(answer, change, () => differenceOf(answer, change, shapes)))
      const shapesFor = (only: readonly string[]) =>
        shapesOf(collection, principal.access, filter, ruleOf(emitted), only)
      const { fields } = shapes
      const large = () =>
        then(readLargeDifference({ change, shapesFor, fields, read }), difference =>
          newRendered(change, difference, 0),
        )
      return then(unlessTooLarge<RenderedEvents>(small, large), rendered => {
        const { userId, appId } = change
        const actorId = userId ?? appId
        if (rendered.difference === null || actorId === null) {
          return eventFor(rendered, collection, false, maxBytes)
        }
        if (userId === null && appId === principal.app?.id)
          return eventFor(rendered, collection, true, maxBytes)
        const actor = { shape: userId === null ? actorShapes.app : actorShapes.user, args: [actorId] }
        return then(run.composite(actor, principal), ({ text }) =>
          eventFor(rendered, collection, JSON.parse(text).actor != null, maxBytes),
        )
      })
    },
  }
}

/** The rule of an emitted event; undefined if everyone who may read the item gets the event. */
function ruleOf(event: EmittedEvent | undefined): Rule | undefined {
  return event === undefined || event.access.kind === 'anyone' ? undefined : event.access
}

function renderedOf(
  answer: CompositeAnswer,
  change: LoggedChange,
  compute: () => Difference | null,
): RenderedEvents {
  const cached = answer.rendered as RenderedEvents | undefined
  if (cached?.change === change) return cached
  const bytes = 6 * answer.text.length + 2 * (change.row.length + (change.before?.length ?? 0))
  const rendered = newRendered(change, compute(), bytes)
  answer.rendered = rendered
  return rendered
}

function newRendered(change: LoggedChange, difference: Difference | null, bytes: number): RenderedEvents {
  return { change, difference, events: [undefined, undefined], bytes }
}

function eventFor(
  { change, difference, events }: RenderedEvents,
  collection: Collection,
  hasActor: boolean,
  maxBytes: number,
): ShownEvent | null {
  if (difference === null) return null
  const index = hasActor ? 1 : 0
  const event = events[index] ?? boundedEvent(change, collection, difference, hasActor, maxBytes)
  events[index] = event
  return event
}

/** What a page, a stream or a message adds to an event. */
const envelopeBytes = 256

function boundedEvent(
  change: LoggedChange,
  collection: Collection,
  difference: Difference,
  hasActor: boolean,
  maxBytes: number,
): ShownEvent {
  const event = renderEvent(change, collection, difference, hasActor)
  if (!isLarger(event.text, maxBytes - envelopeBytes)) return event
  return renderEvent(change, collection, { ...difference, data: null, truncated: true }, hasActor)
}

function renderEvent(
  change: LoggedChange,
  collection: Collection,
  difference: Difference,
  hasActor: boolean,
): ShownEvent {
  const { kind, changed, data, truncated } = difference
  const type = kind === 'left' ? eventType(collection, 'deleted') : typeOf(change, collection)
  const text = JSON.stringify({
    id: String(change.event),
    type,
    created_at: change.at,
    collection: change.collection,
    item_id: change.id,
    ...(hasActor ? { actor: eventActor(change) } : {}),
    ...(changed ? { changed } : {}),
    ...(change.values && !truncated ? { values: change.values } : {}),
    data,
    ...(truncated ? { truncated } : {}),
  })
  return { type, text }
}

/** Null if nothing that the listener can see has changed. */
function differenceOf(
  answer: CompositeAnswer,
  change: LoggedChange,
  { fields }: EventShapes,
): Difference | null {
  const { after = null, before = null, was = before }: Views = JSON.parse(answer.text)
  if (change.kind !== 'updated' || change.type !== null)
    return after && { kind: 'changed', changed: undefined, data: after }
  if (after === null) return before && { kind: 'left', changed: undefined, data: null }
  const changed = fields.filter(
    name => was === null || JSON.stringify(was[name]) !== JSON.stringify(after[name]),
  )
  return changed.length > 0 ? { kind: 'changed', changed, data: after } : null
}
