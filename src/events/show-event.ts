/**
 * A change of the log as the event that one listener gets, or nothing. It is computed from two views: the item before
 * the change and after it, each as this listener may read it now. Whatever the event says, reading the item before and
 * after the change would have said too.
 */
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection, EmittedEvent, Model } from '../model/model.ts'
import type { Rule } from '../model/rule.ts'
import { type Awaitable, type CompositeAnswer, type RenderedAnswer, then } from '../plan/answer.ts'
import { staticRule } from '../plan/guard.ts'
import type { Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import type { LoggedChange } from './change-feed.ts'
import { actorShape, argsOf, createEventShapes, type EventFilter, type EventShapes } from './event-shapes.ts'
import { eventType, typeOf } from './event-types.ts'

/** An event as it is sent. */
export interface ShownEvent {
  /** E.g. `post.updated`. An update that takes the item from the listener's view is a `post.deleted`. */
  readonly type: string
  /** The event as JSON text, as INTERFACE.md describes it. */
  readonly text: string
}

export interface EventViews {
  /**
   * The event of a change for a principal with its present rights; null where it may not know of it, and for a
   * collection that it may not read at all. `filter` narrows the view: an item that stops fulfilling it leaves the view.
   * Fails with UNAVAILABLE while the database is away.
   */
  show(change: LoggedChange, principal: Principal, filter?: EventFilter): Awaitable<ShownEvent | null>
  /**
   * Throws what the guard says to a principal that may never see an event of the collection through this filter:
   * UNAUTHORIZED, FORBIDDEN, INSUFFICIENT_SCOPE.
   */
  require(collection: Collection, principal: Principal, filter?: EventFilter): void
}

/** An item as a listener reads it; null where it may not. */
type View = Readonly<Record<string, JsonValue>> | null

interface Views {
  readonly after?: View
  readonly before?: View
  readonly was?: View
}

/** What a change is to a listener. */
interface Difference {
  readonly kind: 'changed' | 'left'
  /** Undefined: not an update. */
  readonly changed: readonly string[] | undefined
  readonly data: View
}

/** Kept with the answer that it was computed from, for all listeners who get the same answer. */
interface Rendered extends RenderedAnswer {
  /** Changes can be alike and have different numbers: the answer is rendered for one at a time. */
  readonly change: LoggedChange
  readonly difference: Difference | null
  /** Without the actor, and with it. */
  readonly shown: [ShownEvent | undefined, ShownEvent | undefined]
}

export function createEventViews(model: Model, run: Run): EventViews {
  const shapesOf = createEventShapes(model)
  const isAlwaysShown = (collection: Collection, principal: Principal) => (name: string) => {
    const rule = collection.fields.get(name)?.access.read
    return rule !== undefined && staticRule(model, collection, rule, principal.access) === 'always'
  }
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
      const plan = { shape, args: argsOf(change, filter?.args ?? []) }
      return then(run.composite(plan, principal), answer => {
        const rendered = renderedOf(answer, change, () =>
          differenceOf(answer, change, shapes, isAlwaysShown(collection, principal)),
        )
        if (rendered.difference === null || change.userId === null) {
          return shownAs(rendered, change, collection, false)
        }
        return then(run.composite({ shape: actorShape, args: [change.userId] }, principal), ({ text }) =>
          shownAs(rendered, change, collection, JSON.parse(text).actor != null),
        )
      })
    },
  }
}

/** Undefined: whoever may read the item is given the event. */
function ruleOf(event: EmittedEvent | undefined): Rule | undefined {
  return event === undefined || event.access.kind === 'anyone' ? undefined : event.access
}

function renderedOf(
  answer: CompositeAnswer,
  change: LoggedChange,
  compute: () => Difference | null,
): Rendered {
  const known = answer.rendered as Rendered | undefined
  if (known?.change === change) return known
  const bytes = 6 * answer.text.length + 2 * (change.row.length + (change.before?.length ?? 0))
  const rendered: Rendered = { change, difference: compute(), shown: [undefined, undefined], bytes }
  answer.rendered = rendered
  return rendered
}

function shownAs(
  { difference, shown }: Rendered,
  change: LoggedChange,
  collection: Collection,
  hasActor: boolean,
): ShownEvent | null {
  if (difference === null) return null
  const at = hasActor ? 1 : 0
  const event = shown[at] ?? made(change, collection, difference, hasActor)
  shown[at] = event
  return event
}

function made(
  change: LoggedChange,
  collection: Collection,
  difference: Difference,
  hasActor: boolean,
): ShownEvent {
  const { kind, changed, data } = difference
  const type = kind === 'left' ? eventType(collection, 'deleted') : typeOf(change, collection)
  const text = JSON.stringify({
    id: String(change.event),
    type,
    created_at: change.at,
    collection: change.collection,
    item_id: change.id,
    ...(hasActor ? { actor: { user_id: change.userId, app_id: change.appId } } : {}),
    ...(changed ? { changed } : {}),
    ...(change.values ? { values: change.values } : {}),
    data,
  })
  return { type, text }
}

/** Null: nothing that the listener can see has changed. */
function differenceOf(
  answer: CompositeAnswer,
  change: LoggedChange,
  { fields }: EventShapes,
  isAlwaysShown: (field: string) => boolean,
): Difference | null {
  const { after = null, before = null, was = before }: Views = JSON.parse(answer.text)
  if (change.kind !== 'updated' || change.type !== null)
    return after && { kind: 'changed', changed: undefined, data: after }
  if (after === null) return before && { kind: 'left', changed: undefined, data: null }
  const changed =
    change.before === null
      ? changedBlindly(after, change, fields, isAlwaysShown)
      : fields.filter(name => was === null || JSON.stringify(was[name]) !== JSON.stringify(after[name]))
  return changed.length > 0 ? { kind: 'changed', changed, data: after } : null
}

/** For a change whose row before is not known: those of the changed fields that the listener certainly reads. */
function changedBlindly(
  after: NonNullable<View>,
  { changed }: LoggedChange,
  fields: readonly string[],
  isAlwaysShown: (field: string) => boolean,
): readonly string[] {
  return fields.filter(name => changed?.includes(name) && (after[name] !== null || isAlwaysShown(name)))
}
