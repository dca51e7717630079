/**
 * Limits the grants of one user for one app. Each authorization makes a grant, also one that shows no page, and a grant is
 * kept for a year.
 */
import { hasScope } from '../../../base/principal.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { grantHash } from '../tokens/deny-list.ts'
import { type StoredGrant, storedGrant } from './stored-grant.ts'

/** Per user and app. */
const maxGrants = 100
/** How many remain if enough of them are unused: then not every further authorization has to end some. */
const grantsAfterCleanup = 80
/** A younger grant may still be waiting for its code, or for the next poll of its device. */
const youngSeconds = 900

/** The kinds of records by which an app uses a grant. */
const tokenKinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode']

export interface GrantBoundParts {
  readonly records: Records
  /** The hashes of the grants that API keys and webhooks of a user depend on: see `grantHash`. */
  readonly grantsInUse: (userId: number) => Promise<ReadonlySet<string>>
}

interface HeldGrant extends StoredGrant {
  readonly id: string
}

function grantsIn(records: readonly StoredRecord[], clientId: string): HeldGrant[] {
  return records
    .map(record => ({ id: record.id, ...storedGrant(record) }))
    .filter(grant => grant.clientId === clientId)
}

async function grantsWithTokens(records: Records, owner: string): Promise<ReadonlySet<string | null>> {
  const tokens = await Promise.all(tokenKinds.map(kind => records.byOwner(kind, owner)))
  const isLive = ({ expiresAt, consumedAt }: StoredRecord) =>
    consumedAt === null && (expiresAt === null || expiresAt > Date.now())
  return new Set(tokens.flat().flatMap(record => (isLive(record) ? [record.grant] : [])))
}

/**
 * The grants that are in use: by a token, an API key or a webhook, or because no newer grant has one of their scopes, which decide what
 * the app's own webhooks are sent. `grants`: the newest first.
 */
async function inUse(
  { records, grantsInUse }: GrantBoundParts,
  userId: number,
  grants: readonly HeldGrant[],
): Promise<ReadonlySet<HeldGrant>> {
  const [tokens, created] = await Promise.all([
    grantsWithTokens(records, String(userId)),
    grantsInUse(userId),
  ])
  const youngest = Date.now() / 1000 - youngSeconds
  const covered = new Set<string>()
  return new Set(
    grants.filter(({ id, iat, scopes }) => {
      const isWider = [...scopes].some(scope => !hasScope(covered, scope))
      for (const scope of scopes) covered.add(scope)
      return isWider || iat > youngest || tokens.has(id) || created.has(grantHash(id))
    }),
  )
}

/**
 * The ids of the grants that must end: beyond `maxGrants`, the oldest that are not in use; if all are in use, the oldest of
 * all (as Google does with more than 100 refresh tokens).
 */
export async function excessGrants(
  parts: GrantBoundParts,
  userId: number,
  clientId: string,
): Promise<readonly string[]> {
  const grants = grantsIn(await parts.records.byOwner('Grant', String(userId)), clientId)
  if (grants.length <= maxGrants) return []
  grants.sort((one, other) => other.iat - one.iat)
  const used = await inUse(parts, userId, grants)
  const unused = grants.filter(grant => !used.has(grant))
  const ending = unused.slice(Math.max(0, grantsAfterCleanup - used.size))
  const remaining = grants.filter(grant => !ending.includes(grant))
  return [...ending, ...remaining.slice(maxGrants)].map(({ id }) => id)
}
