/** The title of a collection's scope on the consent page: what is possible with it, by the rules and the role of its user. */

import type { Reach } from '../../../engine/plan/guard/guard.ts'
import type { CrudOperation } from '../../../model/model.ts'
import { capitalized, itemsInWords, listed } from '../../../model/words.ts'

export type ReachOfOperations = Readonly<Record<CrudOperation, Reach>>

const verbs: readonly (readonly [CrudOperation, string])[] = [
  ['read', 'see'],
  ['create', 'create'],
  ['update', 'change'],
  ['delete', 'delete'],
]

/** The operations of the scope that reach something. */
function possible(reach: ReachOfOperations, writes: boolean) {
  return verbs.filter(([operation]) => (writes || operation === 'read') && reach[operation] !== 'none')
}

/** E.g. `See users, change your own`; undefined if nothing is possible. */
export function scopeTitle(
  collection: { readonly name: string },
  reach: ReachOfOperations,
  writes: boolean,
): string | undefined {
  const items = itemsInWords(collection)
  const all = possible(reach, writes)
  const isOwn = (operation: CrudOperation) => reach[operation] === 'own'
  // New items of a collection in which everybody reaches only their own are their own, too.
  const reachesOnlyOwn = all.every(([operation]) => operation === 'create' || isOwn(operation))
  const own = all.filter(([operation]) => reachesOnlyOwn || isOwn(operation))
  const others = all.filter(entry => !own.includes(entry))
  const phrase = (entries: typeof all, object: string) =>
    entries.length === 0 ? [] : [`${listed(entries.map(([, verb]) => verb))} ${object}`]
  const onlyCreates = all.length === 1 && all[0]?.[0] === 'create'
  const ownObject = others.length === 0 ? `your own ${items}` : 'your own'
  const phrases = [...phrase(others, items), ...phrase(own, onlyCreates ? items : ownObject)]
  return phrases.length === 0 ? undefined : capitalized(phrases.join(', '))
}
