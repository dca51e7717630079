/** Protects against cross-site request forgery by a token that only our pages know, and by the origin of requests. */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { cookieOf, hostCookieName, setHostCookie } from '../../identity/cookie.ts'
import { cameFrom } from '../../identity/same-origin.ts'
import { isRandomSecret, isSame, randomSecret } from '../../identity/server/secret.ts'

const cookie = 'portico_form'

export interface Csrf {
  /** The token for the forms of a page. Sets the cookie to which the token belongs, if there is none. */
  token(call: Call, res: ServerResponse): string
  /** Throws FORBIDDEN unless the form comes from one of our pages. */
  check(call: Call, token: string): void
  /** Whether a page of the service's own origin has sent the call, so that no token is needed. */
  isOwnPage(call: Call): boolean
}

function secretOf(call: Call, name: string): string | undefined {
  const value = cookieOf(call, name)
  return value !== undefined && isRandomSecret(value) ? value : undefined
}

function tokenOf(secret: string): string {
  return hash('sha256', `form:${secret}`, 'base64url')
}

function forbidden(): ApiError {
  return new ApiError('FORBIDDEN', 'This form is no longer valid. Go back, reload the page and try again.')
}

/** `issuer`: the service's own address. */
export function createCsrf(issuer: string): Csrf {
  const { origin } = new URL(issuer)
  const name = hostCookieName(issuer, cookie)
  return {
    token(call, res) {
      const existing = secretOf(call, name)
      if (existing !== undefined) return tokenOf(existing)
      const secret = randomSecret()
      setHostCookie(res, issuer, { name: cookie, value: secret })
      return tokenOf(secret)
    },
    isOwnPage: ({ headers }) => cameFrom(headers, origin) === 'same-origin',
    check(call, token) {
      const secret = secretOf(call, name)
      // Old browsers do not send the origin of a form; the token is then the only protection.
      const isForeign = cameFrom(call.headers, origin) === 'elsewhere'
      if (secret === undefined || !isSame(token, tokenOf(secret)) || isForeign) throw forbidden()
    },
  }
}
