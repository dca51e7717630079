/** Credential → Principal. Each kind of credential has a reader. */

import { type Awaitable, then } from '../base/awaitable.ts'
import { ApiError } from '../base/errors.ts'
import { anonymous, type Principal } from '../base/principal.ts'
import { type Credential, type CredentialSource, findCredential } from './credentials.ts'

export interface CredentialReader {
  /** Undefined if the credential is of another kind; null if it is wrong, expired or revoked. */
  read(credential: Credential, source: CredentialSource): Awaitable<Principal | null> | undefined
}

/** A reader that needs nothing but the credential. */
export interface PlainReader {
  read(credential: Credential): Awaitable<Principal | null> | undefined
}

export type Authenticate = (source: CredentialSource, budgetAddress: string) => Awaitable<Principal>

function requirePrincipal(principal: Principal | null): Principal {
  if (principal) return principal
  throw new ApiError('UNAUTHORIZED', 'The credential is wrong, expired or revoked.')
}

/** Reads the session of a browser, which sends its cookie with every request. Null if the session is not a credential here. */
export type SessionReader = (headers: CredentialSource['headers']) => Awaitable<Principal | null>

const noSession: SessionReader = () => null

/**
 * Tries the readers in order, and the session only if there is no other credential. Throws UNAUTHORIZED or BAD_REQUEST;
 * without a credential the principal is anonymous.
 */
export function createAuthenticate(
  readers: readonly CredentialReader[],
  readSession: SessionReader = noSession,
): Authenticate {
  return (source, budgetAddress) => {
    const credential = findCredential(source)
    if (credential === null) {
      const { headers } = source
      if (headers.cookie === undefined) return anonymous(budgetAddress)
      return then(readSession(headers), principal => principal ?? anonymous(budgetAddress))
    }
    for (const reader of readers) {
      const principal = reader.read(credential, source)
      if (principal !== undefined) return then(principal, requirePrincipal)
    }
    return requirePrincipal(null)
  }
}
