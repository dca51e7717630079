/** The title of a collection's scope on the consent page: what is possible with it, by the rules and the role of its user. */

import type { Message, Text } from '../../../base/html.ts'
import type { Reach } from '../../../engine/plan/guard/guard.ts'
import type { CrudOperation } from '../../../model/model.ts'
import { capitalized, listed } from '../../../model/words.ts'
import { composed, itemsText, t } from '../../mail/page-texts.ts'

export type ReachOfOperations = Readonly<Record<CrudOperation, Reach>>

const verbs: readonly (readonly [CrudOperation, Message])[] = [
  ['read', t('see')],
  ['create', t('create')],
  ['update', t('change')],
  ['delete', t('delete')],
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
): Message | undefined {
  const items = itemsText(collection.name)
  const all = possible(reach, writes)
  const isOwn = (operation: CrudOperation) => reach[operation] === 'own'
  // New items of a collection in which everybody reaches only their own are their own, too.
  const reachesOnlyOwn = all.every(([operation]) => operation === 'create' || isOwn(operation))
  const own = all.filter(([operation]) => reachesOnlyOwn || isOwn(operation))
  const others = all.filter(entry => !own.includes(entry))
  const phrase = (entries: typeof all, object: Text) =>
    composed((say, locale) =>
      say(
        t('{verbs} {items}', {
          verbs: listed(
            entries.map(([, verb]) => say(verb)),
            locale,
          ),
          items: object,
        }),
      ),
    )
  const onlyCreates = all.length === 1 && all[0]?.[0] === 'create'
  const ownObject = others.length === 0 ? t('your own {items}', { items }) : t('your own')
  const phrases = [
    ...(others.length > 0 ? [phrase(others, items)] : []),
    ...(own.length > 0 ? [phrase(own, onlyCreates ? items : ownObject)] : []),
  ]
  return phrases.length === 0 ? undefined : composed(say => capitalized(phrases.map(say).join(', ')))
}
