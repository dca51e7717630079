/** The types of events, e.g. `post.created`, and the patterns with which listeners select them. */
import type { Collection, Model } from '../../model/model.ts'
import type { ChangeKind, LoggedChange } from '../plan/change-feed.ts'

export const changeKinds = ['created', 'updated', 'deleted'] as const satisfies readonly ChangeKind[]

export function eventType(collection: Collection, kind: ChangeKind): string {
  return `${collection.singular}.${kind}`
}

/** The type of a change in the log. A listener that sees less of the item may be sent another type. */
export function typeOf(change: Pick<LoggedChange, 'type' | 'kind'>, collection: Collection): string {
  return change.type ?? eventType(collection, change.kind)
}

/** Built-in types other than those of `changeKinds`. */
const builtInTypes = ['webhook.paused']

/** The types of a collection's events other than those of `changeKinds`. */
export function ownTypesOf({ singular, emits }: Collection): readonly string[] {
  const builtIn = builtInTypes.filter(type => type.startsWith(`${singular}.`))
  return emits === undefined ? builtIn : [...builtIn, ...emits.keys()]
}

/** The types of all events of a collection. */
export function typesOf(collection: Collection): readonly string[] {
  return [...changeKinds.map(kind => eventType(collection, kind)), ...ownTypesOf(collection)]
}

/** Whether a pattern covers a type: `*` covers all, `post.*` those of posts, anything else only itself. */
export function coversType(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))
}

/** The collection of a pattern; `'all'` for `*`, undefined if the pattern matches no known type. */
export function collectionOfPattern(model: Model, pattern: string): Collection | 'all' | undefined {
  if (pattern === '*') return 'all'
  const dot = pattern.lastIndexOf('.')
  const collection = [...model.collections.values()].find(
    ({ singular }) => singular === pattern.slice(0, dot),
  )
  if (!collection) return undefined
  return pattern.endsWith('.*') || typesOf(collection).includes(pattern) ? collection : undefined
}

/** Who made a change, as events have it. `via`: the action that made it on their behalf, as the service. */
export interface EventActor {
  readonly user_id: number | null
  readonly app_id: number | null
  readonly via?: string
}

/** Null for an anonymous caller, and for the service itself. */
export function eventActor({ userId, appId, via }: LoggedChange): EventActor | null {
  if (userId === null && appId === null) return null
  return { user_id: userId, app_id: appId, ...(via !== null && { via }) }
}
