/** Placeholders in a declaration for values that are known only when a request is served. */

/** Registered, so that a marker is known to every copy of this module in the process. */
export const marker: unique symbol = Symbol.for('portico.marker')

export type MarkerName = 'now' | 'currentUser' | 'uuid'

export interface Marker<Name extends MarkerName = MarkerName> {
  readonly [marker]: Name
}

/** The time of the write. */
export const now: Marker<'now'> = Object.freeze({ [marker]: 'now' as const })

/** The id of the caller. */
export const currentUser: Marker<'currentUser'> = Object.freeze({ [marker]: 'currentUser' as const })

/** A fresh random UUID (RFC 9562, version 4). */
export const randomUuid: Marker<'uuid'> = Object.freeze({ [marker]: 'uuid' as const })

/** The name that declarations use for it. */
export const markerNames: Readonly<Record<MarkerName, string>> = {
  now: 'now',
  currentUser: 'currentUser',
  uuid: 'randomUuid',
}

/** Which marker a value is, if it is one. */
export function markerOf(value: unknown): MarkerName | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return (value as Partial<Marker>)[marker]
}
