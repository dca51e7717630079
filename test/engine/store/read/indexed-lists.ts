/** A model for lists that use indexes, and the values of their statements. */

import { type TotalOrder, totalOrder } from '../../../../src/engine/plan/order.ts'
import type { Bind } from '../../../../src/engine/store/sql/writer.ts'
import {
  type AccessRule,
  anyone,
  boolean,
  choice,
  collection,
  datetime,
  integer,
  model,
  relation,
  string,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { IndexDeclaration } from '../../../../src/model/declaration.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { Model } from '../../../../src/model/model.ts'

/** A model of posts with these indexes and this read rule. */
export function postsWith(indexes: readonly IndexDeclaration[], read: AccessRule = anyone): Model {
  const fields = {
    title: string(),
    status: choice(['draft', 'published', 'gone']),
    due: datetime({ optional: true }),
    rank: integer({ optional: true }),
    pinned: boolean({ optional: true }),
    author_id: relation('users', { inverse: 'posts' }),
  }
  return checkModel(model({ posts: collection({ access: { read }, fields, indexes }) }))
}

/** Parses a sort order as `?sort=` writes it. */
export function sortOf(text: string): TotalOrder {
  const keys = text.split(',')
  return totalOrder(keys.map(key => ({ field: key.replace('-', ''), descending: key.startsWith('-') })))
}

export type Values = readonly (string | number | null)[]

/** The user id of the caller. */
export const callerId = 3

/** The values of the binds; those of a position are slots. */
export function valuesOf(binds: readonly Bind[], args: readonly JsonValue[], slots: Values): Values {
  return binds.map(bind => {
    if (bind.from === 'slot') return slots[bind.slot] ?? null
    if (bind.from === 'userId') return callerId
    if (bind.from !== 'arg' && bind.from !== 'constant') return null
    return (bind.from === 'arg' ? args[bind.param] : bind.value) as string | number | null
  })
}
