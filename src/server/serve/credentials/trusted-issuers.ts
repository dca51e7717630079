/** Finds the accounts that JWTs of trusted issuers refer to. */

import type { Awaitable } from '../../../base/awaitable.ts'
import type { Records } from '../../../base/records.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape, readItem } from '../../../engine/plan/system-plans.ts'
import { createAddresses } from '../../../identity/accounts/addresses/addresses.ts'
import { findByEmail } from '../../../identity/accounts/users.ts'
import type { CredentialReader } from '../../../identity/authenticate.ts'
import type { LocalUser } from '../../../identity/trusted-issuer.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import type { Logger } from '../../observability/log.ts'

interface TrustedIssuerParts {
  /** Reads the JSON document at an address. Default: over HTTPS, with the checks of `fetch-keys.ts`. */
  readonly fetchKeys?: (address: string) => Promise<unknown>
  readonly model: Model
  readonly run: Run
  readonly records: Records
  readonly version: (collection: string) => number
  readonly settings: Settings
  readonly logger?: Logger
}

const byId = itemShape('users', ['id', 'role', 'disabled'])

/** The reader of JWTs of trusted issuers; empty without such issuers. */
export async function trustedIssuerReaders(parts: TrustedIssuerParts): Promise<readonly CredentialReader[]> {
  const { model, run, records, version, settings, logger } = parts
  const issuers = settings['oauth.trustedIssuers']
  if (issuers.length === 0) return []
  const { trustedIssuerReader } = await import('../../../identity/trusted-issuer.ts')
  const { fetchKeys = (await import('../../../identity/fetch-keys.ts')).keyFetcher() } = parts
  const addresses = createAddresses(records)
  const findById = (id: number): Awaitable<LocalUser | undefined> => readItem(run, byId, id)
  /** Finds a user only by a confirmed address that was not changed recently. */
  const findByAddress = async (email: string): Promise<LocalUser | undefined> => {
    const user = await findByEmail(run, email)
    if (!user || (await addresses.isUnproven(user.id))) return undefined
    return (await addresses.isTrusted(user.id, email)) ? user : undefined
  }
  const scopes = new Set(model.scopes.keys())
  const onChange = (issuer: string, reason: string | undefined) =>
    reason === undefined
      ? logger?.info({ issuer }, 'the keys of the issuer can be fetched again')
      : logger?.warn(
          { issuer, reason },
          'the keys of the issuer cannot be fetched: tokens that need them are refused',
        )
  return [
    trustedIssuerReader({
      issuers,
      fetchKeys,
      findById,
      findByEmail: findByAddress,
      version,
      scopes,
      claims: model.claims,
      onChange,
    }),
  ]
}
