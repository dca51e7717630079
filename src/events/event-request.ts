/** The events that a listener asks for, as a request for subscriptions and for pages of the log. */
import { hash } from 'node:crypto'
import { ApiError } from '../errors.ts'
import type { Collection, Model } from '../model/model.ts'
import { then } from '../plan/answer.ts'
import { admit } from '../plan/guard.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import type { ChangeKind } from './change-feed.ts'
import type { EventFilter } from './event-shapes.ts'
import { changeKinds, coversType, eventType, ownTypesOf } from './event-types.ts'
import type { EventViews, ShownEvent } from './show-event.ts'
import type { ChangeRenderer, SubscriptionRequest, Topic } from './subscriber.ts'

export interface WantedEvents {
  /** Undefined: all that the listener may read. */
  readonly collections: readonly Collection[] | undefined
  /** Patterns of types, e.g. `post.*`; undefined: every type. */
  readonly types: readonly string[] | undefined
  readonly itemId: number | undefined
  readonly filter: EventFilter | undefined
}

/** The format in which an event is sent. `name`: equal only for equal formats. */
export interface EventForm {
  readonly name: string
  render(shown: ShownEvent, event: number): string
}

export function isLogged(collection: Collection): boolean {
  return !collection.unlogged && collection.access.read.kind !== 'nobody'
}

/**
 * Every collection of which the principal may read some items. Throws UNAUTHORIZED, INSUFFICIENT_SCOPE or FORBIDDEN if
 * there is none.
 */
export function readableCollections(model: Model, { access }: Principal): readonly Collection[] {
  const refusals: ApiError[] = []
  const found = [...model.collections.values()].filter(isLogged).filter(collection => {
    try {
      admit(model, collection, 'read', access)
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refusals.push(error)
      return false
    }
  })
  if (found.length > 0) return found
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED', 'Nothing may be read without a credential.')
  throw refusals.find(({ code }) => code === 'INSUFFICIENT_SCOPE') ?? new ApiError('FORBIDDEN')
}

export function eventRequest(
  model: Model,
  views: EventViews,
  wanted: WantedEvents,
  form: EventForm,
): SubscriptionRequest {
  const { types, itemId, filter } = wanted
  const names = wanted.collections?.map(({ name }) => name)
  return {
    key: hash('sha256', JSON.stringify([form.name, names, types, itemId, filter]), 'base64url'),
    rendererFor(principal) {
      const collections = wanted.collections ?? readableCollections(model, principal)
      for (const collection of collections) views.require(collection, principal, filter)
      return rendererOf(views, { ...wanted, collections }, form, principal)
    },
  }
}

function rendererOf(
  views: EventViews,
  { collections, types, itemId, filter }: WantedEvents & { readonly collections: readonly Collection[] },
  form: EventForm,
  principal: Principal,
): ChangeRenderer {
  const isWanted = (type: string) => types === undefined || types.some(pattern => coversType(pattern, type))
  return {
    topics: collections.flatMap(collection => topicsOf(collection, isWanted)),
    render(change) {
      if (itemId !== undefined && change.id !== itemId) return null
      return then(views.show(change, principal, filter), shown =>
        shown !== null && isWanted(shown.type) ? form.render(shown, change.event) : null,
      )
    },
  }
}

/** An update can be a deletion to this listener, and a change of any kind can have a type of its own. */
function topicsOf(collection: Collection, isWanted: (type: string) => boolean): readonly Topic[] {
  const hasOwn = ownTypesOf(collection).some(isWanted)
  const wants = (kind: ChangeKind) => isWanted(eventType(collection, kind))
  return changeKinds
    .filter(kind => hasOwn || wants(kind) || (kind === 'updated' && wants('deleted')))
    .map(kind => ({ collection: collection.name, kind }))
}
