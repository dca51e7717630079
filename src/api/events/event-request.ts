/** Selected events, as a request for subscriptions and for pages of the log. */
import { hash } from 'node:crypto'
import { then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { isAnonymous, type Principal } from '../../base/principal.ts'
import { changeKinds, coversType, eventType, ownTypesOf } from '../../engine/log/event-types.ts'
import type { ChangeKind } from '../../engine/plan/change-feed.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import type { Collection, Model } from '../../model/model.ts'
import type { EventFilter } from './event-shapes.ts'
import type { EventViews, ShownEvent } from './show-event.ts'
import type { ChangeRenderer, SubscriptionRequest, Topic } from './subscriber.ts'

export interface EventSelection {
  /** Undefined: every collection that the listener may read. */
  readonly collections: readonly Collection[] | undefined
  /** Patterns of types, e.g. `post.*`; undefined: every type. */
  readonly types: readonly string[] | undefined
  readonly itemId: number | undefined
  readonly filter: EventFilter | undefined
}

/** The format in which an event is sent. `name`: equal only for equal formats. */
export interface EventFormat {
  readonly name: string
  render(event: ShownEvent, eventNumber: number): string
}

export function offersEvents(collection: Collection): boolean {
  return !collection.unlogged && collection.access.read.kind !== 'nobody'
}

/**
 * Every collection of which the principal may read some items. Throws UNAUTHORIZED, INSUFFICIENT_SCOPE or FORBIDDEN if
 * there is none.
 */
export function readableCollections(model: Model, { access }: Principal): readonly Collection[] {
  const refusals: ApiError[] = []
  const readable = [...model.collections.values()].filter(offersEvents).filter(collection => {
    try {
      admit(model, collection, 'read', access)
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refusals.push(error)
      return false
    }
  })
  if (readable.length > 0) return readable
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED', 'Nothing can be read without a credential.')
  throw refusals.find(({ code }) => code === 'INSUFFICIENT_SCOPE') ?? new ApiError('FORBIDDEN')
}

export function eventRequest(
  model: Model,
  views: EventViews,
  selection: EventSelection,
  format: EventFormat,
): SubscriptionRequest {
  const { types, itemId, filter } = selection
  const names = selection.collections?.map(({ name }) => name)
  return {
    key: hash('sha256', JSON.stringify([format.name, names, types, itemId, filter]), 'base64url'),
    rendererFor(principal) {
      const collections = selection.collections ?? readableCollections(model, principal)
      for (const collection of collections) views.require(collection, principal, filter)
      return createRenderer(views, { ...selection, collections }, format, principal)
    },
  }
}

function createRenderer(
  views: EventViews,
  { collections, types, itemId, filter }: EventSelection & { readonly collections: readonly Collection[] },
  format: EventFormat,
  principal: Principal,
): ChangeRenderer {
  const isSelected = (type: string) => types === undefined || types.some(pattern => coversType(pattern, type))
  return {
    topics: collections.flatMap(collection => topicsOf(collection, isSelected)),
    render(change) {
      if (itemId !== undefined && change.id !== itemId) return null
      return then(views.show(change, principal, filter), event =>
        event !== null && isSelected(event.type) ? format.render(event, change.event) : null,
      )
    },
  }
}

/** An update can be a deletion to this listener, and a change of any kind can have a type of its own. */
function topicsOf(collection: Collection, isSelected: (type: string) => boolean): readonly Topic[] {
  const hasOwnType = ownTypesOf(collection).some(isSelected)
  const isKindSelected = (kind: ChangeKind) => isSelected(eventType(collection, kind))
  return changeKinds
    .filter(kind => hasOwnType || isKindSelected(kind) || (kind === 'updated' && isKindSelected('deleted')))
    .map(kind => ({ collection: collection.name, kind }))
}
