/** Turns a change of the log into the event of a reaction, with everything that the service itself may read. */

import { type EventActor, eventActor, typeOf } from '../../../engine/log/event-types.ts'
import type { LoggedChange } from '../../../engine/plan/change-feed.ts'
import type { JsonObject } from '../../../model/fields/type.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { Model } from '../../../model/model.ts'

export interface LogicEvent {
  readonly id: string
  /** E.g. `task.updated`. */
  readonly type: string
  /** When it was committed, ISO 8601 UTC. */
  readonly created_at: string
  readonly collection: string
  readonly item_id: number
  /** Null for an anonymous caller and for the service itself. */
  readonly actor: EventActor | null
  /** The fields that an update changed; null for other events. */
  readonly changed: readonly string[] | null
  /** The item after the change; before it, for a deletion. */
  readonly data: LogicItem
  /** The item before an update; null for other events. */
  readonly previous: LogicItem | null
  /** The values of an event that an action emitted; null for other events. */
  readonly values: JsonObject | null
}

/** Undefined if the model no longer has the collection. */
export function typeOfChange(model: Model, change: LoggedChange): string | undefined {
  const collection = model.collections.get(change.collection)
  return collection && typeOf(change, collection)
}

export function logicEventOf(model: Model, change: LoggedChange): LogicEvent {
  const fields = model.collections.get(change.collection)?.fields
  const isPublic = (name: string) => {
    const field = fields?.get(name)
    return field !== undefined && !field.internal && !field.writeOnly
  }
  return Object.freeze({
    id: String(change.event),
    type: typeOfChange(model, change) ?? `${change.collection}.${change.kind}`,
    created_at: change.at,
    collection: change.collection,
    item_id: change.id,
    actor: Object.freeze(eventActor(change)),
    changed: change.changed === null ? null : Object.freeze(change.changed.filter(isPublic)),
    data: itemOf(change.row),
    previous: change.before === null ? null : itemOf(change.before),
    values: change.values === null ? null : Object.freeze(structuredClone(change.values)),
  })
}

function itemOf(text: string): LogicItem {
  return Object.freeze(JSON.parse(text))
}
