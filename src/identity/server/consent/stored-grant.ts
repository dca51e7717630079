/** Grants of oidc-provider as they are stored. */
import { scopeSet } from '../../../base/principal.ts'
import type { StoredRecord } from '../../../base/records.ts'

export interface StoredGrant {
  readonly clientId: string | undefined
  readonly accountId: string | undefined
  /** When it was made, in seconds since 1970. */
  readonly iat: number
  readonly scopes: ReadonlySet<string>
}

/** oidc-provider's payload of a grant: the members that are used here. */
interface GrantPayload {
  readonly clientId?: string
  readonly accountId?: string
  readonly iat?: number
  readonly openid?: { readonly scope?: string }
}

/** Parses the payload of a stored grant. */
export function storedGrant({ payload }: Pick<StoredRecord, 'payload'>): StoredGrant {
  const { clientId, accountId, iat = 0, openid }: GrantPayload = JSON.parse(payload)
  return { clientId, accountId, iat, scopes: scopeSet(openid?.scope) }
}
