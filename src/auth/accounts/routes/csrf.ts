/** Protects against cross-site request forgery by a token that only our pages know, and by the origin of requests. */
import { hash, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Call } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { cameFrom } from '../../same-origin.ts'
import { isSame } from '../../server/secret.ts'
import { cookieOf } from './cookie.ts'

const secretBytes = 32
const form = /^[A-Za-z0-9_-]{43}$/

export interface Csrf {
  /** The token for the forms of a page. Sets the cookie to which the token belongs, if there is none. */
  token(call: Call, res: ServerResponse): string
  /** Throws FORBIDDEN unless the form is one of ours and was sent from one of our pages. */
  check(call: Call, token: string): void
  /** Whether a page of the service's own origin has sent the call, so that no token is needed. */
  isOwnPage(call: Call): boolean
}

function secretOf(call: Call, name: string): string | undefined {
  const value = cookieOf(call, name)
  return value !== undefined && form.test(value) ? value : undefined
}

function tokenOf(secret: string): string {
  return hash('sha256', `form:${secret}`, 'base64url')
}

function forbidden(): ApiError {
  return new ApiError('FORBIDDEN', 'This form is no longer valid. Go back, load the page again and repeat.')
}

/** `issuer`: the service's own address. */
export function createCsrf(issuer: string): Csrf {
  const { origin, protocol } = new URL(issuer)
  const secure = protocol === 'https:'
  // RFC 6265bis, 4.1.3.2: no other host of the domain can set a cookie with this prefix.
  const name = secure ? '__Host-portico_form' : 'portico_form'
  const tail = `; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    token(call, res) {
      const known = secretOf(call, name)
      if (known !== undefined) return tokenOf(known)
      const secret = randomBytes(secretBytes).toString('base64url')
      // Not in the headers of the reply, which would replace the cookies that the session has set.
      res.appendHeader('Set-Cookie', `${name}=${secret}${tail}`)
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
