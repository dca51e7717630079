/** Who may do what, as the OpenAPI document tells it. */
import type { JsonSchema, JsonValue } from '../model/fields/type.ts'
import type { Collection, Model } from '../model/model.ts'
import { staticRule } from '../plan/guard.ts'
import { anonymous } from '../principal.ts'
import type { Operation } from './operations.ts'
import { inWords } from './rule-words.ts'

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`pk_…`), an OAuth access token, or a JWT of a trusted issuer (RFC 6750).',
  },
  dpop: {
    type: 'http',
    scheme: 'dpop',
    description:
      'An OAuth access token that is bound to a key, with a proof of it in the header `DPoP` (RFC 9449, 7.1).',
  },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  apiKeyQuery: { type: 'apiKey', in: 'query', name: 'api_key' },
}

const nobodyYet = anonymous('').access
const actions = { read: 'read', create: 'write', update: 'write', delete: 'write' } as const

/** What an operation does to one of the collections that it touches. */
export interface Deed {
  readonly collection: Collection
  readonly operation: Operation
}

function isOpen(model: Model, { collection, operation }: Deed): boolean {
  return staticRule(model, collection, collection.access[operation], nobodyYet) !== 'never'
}

function inSentences([first, ...others]: readonly Deed[]): string {
  const rule = ({ collection, operation }: Deed) => inWords(collection.access[operation])
  const more = others.map(deed => ` Who may read ${deed.collection.name}: ${rule(deed)}.`)
  return `Who may: ${first ? rule(first) : ''}.${more.join('')}`
}

/** The description and the security of an operation that does all of `deeds`; `signedIn`: whoever may else. */
export function access(model: Model, deeds: readonly Deed[], signedIn = false): JsonSchema {
  const named = deeds.map(({ collection, operation }) => `${actions[operation]}:${collection.singular}`)
  const scopes = [...new Set(named)]
  // Without roles, which these schemes might name here: linters take them for scopes of OAuth flows.
  const needed = Object.keys(securitySchemes).map((name): JsonValue => ({ [name]: [] }))
  const open = !signedIn && deeds.every(deed => isOpen(model, deed))
  const words = scopes.map(scope => `\`${scope}\``).join(' and ')
  return {
    description: `${inSentences(deeds)} A credential that is limited to scopes needs ${words}.`,
    security: open ? [{}, ...needed] : needed,
    'x-required-scopes': scopes,
  }
}
