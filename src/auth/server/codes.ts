/** Authorization codes: taken only with the `redirect_uri` that their request had (RFC 6749, 4.1.3). */
import type { Context, Model } from 'oidc-provider'
import { currentContext } from './browsers.ts'
import { withoutRedirectUri } from './dialect.ts'
import { errors, type Provider } from './library.ts'

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
