/** POST to a collection. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import type { KeyedAttempt } from '../../engine/idempotency/idempotency.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import { emptyCreation } from '../../engine/plan/run.ts'
import { bodyValidator } from '../../model/validate.ts'
import { readBody } from './body.ts'
import { answerBulk } from './bulk.ts'
import type { CollectionView } from './query/collection-view.ts'
import { parseItem } from './query/item.ts'
import { carryOut, json, preparedCreate, type WriteServices } from './write.ts'

/** 201 with `Location`; without it if the body is an array (see `answerBulk`). */
export function answerCreate(
  services: WriteServices,
  view: CollectionView,
  call: Call,
  principal: Principal,
  attempt?: KeyedAttempt,
): Awaitable<Reply> {
  // Before the body is parsed: a caller who may create no item gets no faults of the body.
  admit(services.model, view.collection, 'create', principal.access)
  const template = parseItem(view, call.query)
  const body = readBody(call, json)
  if (Array.isArray(body)) return answerBulk(services, view, template, body, call, principal, attempt)
  const { values } = bodyValidator(view.collection).create(body)
  const creating = services.hooks.get(view.collection.name)?.(values, principal) ?? emptyCreation
  return then(creating, creation =>
    carryOut(
      services.run,
      preparedCreate(view, template, values, creation),
      principal,
      attempt,
      creation.afterwards,
    ),
  )
}
