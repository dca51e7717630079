/** The time of the sign-in behind an access token: the token of an old sign-in does not count as a recent one. */
import { currentContext } from '../provider/request-state.ts'

/** What a token request may exchange for an access token. */
const sources = ['AuthorizationCode', 'DeviceCode', 'RefreshToken']

/**
 * The time of the sign-in of the code or refresh token in the current request, in seconds since 1970 (`auth_time`, RFC 9068,
 * 2.2.1). Undefined for a token without a user.
 */
export function authTimeOfRequest(): number | undefined {
  const entities = currentContext()?.oidc.entities ?? {}
  for (const name of sources) {
    const source = entities[name] as { readonly authTime?: number } | undefined
    if (source?.authTime !== undefined) return source.authTime
  }
  return undefined
}
