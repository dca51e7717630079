/** Authorization codes: taken only with the `redirect_uri` that their request had (RFC 6749, 4.1.3). */
import type { Context, Model } from 'oidc-provider'
import { currentContext } from './browsers.ts'
import type { Pairs } from './dialect.ts'
import { errors, type Provider } from './library.ts'

/** Marks an authorization request without an address. No client can send it. */
export const withoutRedirectUri = 'portico_without_redirect_uri'

/** The parameters of an authorization request as `make` makes them of what was sent, marked where they have no address. */
export async function markedRequest(sent: Pairs, make: (own: Pairs) => Promise<Pairs>): Promise<Pairs> {
  const made = await make(sent.filter(([name]) => name !== withoutRedirectUri))
  // What was pushed is marked already.
  const isWhole = made.some(([name]) => name === 'redirect_uri' || name === 'request_uri')
  return isWhole ? made : [...made, [withoutRedirectUri, 'yes']]
}

interface Code extends Model {
  /** Whether its request left the address to the only one that is registered. */
  redirectUriOmitted?: boolean
}

function lacksRedirectUri({ oidc }: Context, code: Code): boolean {
  if (oidc.route !== 'token' || code.clientId !== oidc.client.clientId) return false
  // As it was sent: by now the library has put the only registered address in its place.
  return !oidc.body?.redirect_uri && code.redirectUriOmitted !== true
}

/** The library takes any code without an address where only one is registered. */
export function requireRedirectUri({ AuthorizationCode }: Provider): void {
  const stored = [...AuthorizationCode.IN_PAYLOAD, 'redirectUriOmitted']
  Object.defineProperty(AuthorizationCode, 'IN_PAYLOAD', { configurable: true, get: () => stored })
  const { getValueAndPayload } = AuthorizationCode.prototype
  AuthorizationCode.prototype.getValueAndPayload = async function marked(this: Code) {
    const made = await getValueAndPayload.call(this)
    if (currentContext()?.oidc.params[withoutRedirectUri] !== undefined)
      made.payload.redirectUriOmitted = true
    return made
  }
  const find = AuthorizationCode.find.bind(AuthorizationCode)
  AuthorizationCode.find = async (value, options) => {
    const code = (await find(value, options)) as Code | undefined
    const ctx = currentContext()
    if (code && ctx && lacksRedirectUri(ctx, code)) {
      throw new errors.InvalidRequest('redirect_uri is missing: the authorization request had it')
    }
    return code
  }
}
