/** Who may call an operation: its description, security requirements and scopes. */

import { anonymous } from '../../../base/principal.ts'
import { staticRule } from '../../../engine/plan/guard/guard.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import type { Collection, CrudOperation, Model } from '../../../model/model.ts'
import { inWords } from '../../../model/rule/rule-text.ts'

/**
 * Only one scheme; the description names the others. Some generators send a token by every scheme of an operation, even in
 * the URL.
 */
export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key (`pk_…`), an OAuth access token, or a JWT of a trusted issuer (RFC 6750). API keys are also accepted in the header `X-API-Key` or the query parameter `api_key`. A token that is bound to a key is sent as `Authorization: DPoP …`, with its proof in the header `DPoP` (RFC 9449, 7.1).',
  },
}

export const withoutCredential = anonymous('').access
const actions = { read: 'read', create: 'write', update: 'write', delete: 'write' } as const

/** What an operation does to one of its collections. */
export interface Access {
  readonly collection: Collection
  readonly operation: CrudOperation
}

/** Whether the operation is allowed on some items without a credential. */
export function isOpen(model: Model, { collection, operation }: Access): boolean {
  return staticRule(model, collection, collection.access[operation], withoutCredential) !== 'never'
}

/** The rule of one collection; of several, only their names: the operations that read each of them state its rule. */
function inSentence(accesses: readonly [Access, ...Access[]]): string {
  const [{ collection, operation }] = accesses
  if (accesses.length === 1) return `Who may: ${inWords(collection.access[operation])}.`
  const reads = accesses.filter(access => access.operation === 'read').map(access => access.collection.name)
  const ownRule = operation === 'read' ? '' : `${inWords(collection.access[operation])}; and `
  return `Who may: ${ownRule}callers who may read ${[...new Set(reads)].join(' and ')}.`
}

/** A credential that is limited to scopes needs all of them. */
export function scopesInWords(scopes: readonly string[]): string {
  if (scopes.length === 0) return ''
  return `${scopes.length === 1 ? 'Scope' : 'Scopes'}: ${scopes.map(scope => `\`${scope}\``).join(', ')}.`
}

/** The security requirements of an operation. `open`: it needs no credential. */
export function requirements(open: boolean): readonly JsonValue[] {
  // OpenAPI 3.1 allows roles in these lists, but linters take them for scopes of OAuth flows.
  const credentials = Object.keys(securitySchemes).map((name): JsonValue => ({ [name]: [] }))
  return open ? [{}, ...credentials] : credentials
}

/** For an operation that needs all of `accesses`. `signedIn`: it also needs a signed-in user. */
export function accessMembers(
  model: Model,
  accesses: readonly [Access, ...Access[]],
  signedIn = false,
): JsonSchema {
  const scopeNames = accesses.map(
    ({ collection, operation }) => `${actions[operation]}:${collection.singular}`,
  )
  const scopes = [...new Set(scopeNames)]
  const open = !signedIn && accesses.every(access => isOpen(model, access))
  return {
    description: `${inSentence(accesses)} ${scopesInWords(scopes)}`,
    security: requirements(open),
    'x-required-scopes': scopes,
  }
}
