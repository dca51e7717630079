/**
 * Revoked JWT access tokens. A JWT is verified without its record, so revocations are listed here for the lifetime of a JWT:
 * grants by their hash, single tokens by their `jti`.
 */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import { forwarding, type Records } from '../../../base/records.ts'
import { secretHash } from '../secret.ts'

const recordKind = 'Denial'

/** Kinds whose records are single tokens. */
const tokenKinds: readonly string[] = ['AccessToken', 'ClientCredentials']

/** The name of a grant in JWTs. */
export function grantHash(grant: string): string {
  return secretHash(grant)
}

/** Wraps `records` so that every deleted grant and token is added to the deny list. `lifetimeSeconds`: of an access token. */
export function withDenials(records: Records, lifetimeSeconds: number): Records {
  const denying = new Map<string, Promise<void>>()
  const deny = (id: string): Promise<void> => {
    const pending = denying.get(id)
    if (pending) return pending
    const denial = { kind: recordKind, id, payload: '{}', expiresAt: Date.now() + lifetimeSeconds * 1000 }
    const put = records.put(denial).finally(() => denying.delete(id))
    denying.set(id, put)
    return put
  }
  // Denied first: a reader that sees the version after a deletion must find the denial.
  return {
    ...forwarding(records),
    async delete(kind, id) {
      if (kind === 'Grant') await deny(grantHash(id))
      if (tokenKinds.includes(kind)) await deny(id)
      return records.delete(kind, id)
    },
    async deleteGrant(grant) {
      await deny(grantHash(grant))
      return records.deleteGrant(grant)
    },
    async deleteOwned(owner, kinds) {
      const grants = kinds.includes('Grant') ? await records.byOwner('Grant', owner) : []
      await Promise.all(grants.map(({ id }) => deny(grantHash(id))))
      return records.deleteOwned(owner, kinds)
    },
  }
}

/** The deny list, read again only after a deletion. */
export class Denials {
  readonly #records: Records
  #cached: { readonly ids: ReadonlySet<string>; readonly version: number } | undefined

  constructor(records: Records) {
    this.#records = records
  }

  ids(): Awaitable<ReadonlySet<string>> {
    const version = this.#version()
    if (this.#cached?.version === version) return this.#cached.ids
    return then(this.#records.all(recordKind), rows => {
      const ids = new Set(rows.map(({ id }) => id))
      this.#cached = { ids, version }
      return ids
    })
  }

  #version(): number {
    const versions = ['Grant', 'RefreshToken', ...tokenKinds].map(kind => this.#records.version(kind))
    return versions.reduce((sum, version) => sum + version, 0)
  }
}
