/**
 * How many grants a user's authorizations of one app leave behind. Each authorization makes one, also those of which nobody
 * sees a page, and a grant is kept for a year.
 */
import { hasScope } from '../../../principal.ts'
import type { Records, StoredRecord } from '../../../records.ts'
import { grantHash } from '../tokens/deny-list.ts'
import { scopeSet } from './scopes.ts'

/** Of one user and app. */
const maxGrants = 100
/** How many remain where enough of them give access to nothing any more: not every authorization has to end some. */
const keptGrants = 80
/** A younger one may be about to get its code, or to be polled for by a device. */
const youngSeconds = 900

/** The kinds of records that are of use to an app while they live. */
const tokenKinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode']

export interface GrantBoundParts {
  readonly records: Records
  /** The hashes of the grants by which webhooks of a user were made: see `grantHash`. */
  readonly grantsOfWebhooks: (userId: number) => Promise<ReadonlySet<string>>
}

interface HeldGrant {
  readonly id: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly scopes: ReadonlySet<string>
}

function grantsIn(records: readonly StoredRecord[], clientId: string): HeldGrant[] {
  return records.flatMap(({ id, payload }) => {
    const { clientId: client, iat = 0, openid } = JSON.parse(payload)
    return client === clientId ? [{ id, iat, scopes: scopeSet(openid?.scope) }] : []
  })
}

async function withTokens(records: Records, owner: string): Promise<ReadonlySet<string | null>> {
  const found = await Promise.all(tokenKinds.map(kind => records.byOwner(kind, owner)))
  const isLive = ({ expiresAt, consumedAt }: StoredRecord) =>
    consumedAt === null && (expiresAt === null || expiresAt > Date.now())
  return new Set(found.flat().flatMap(record => (isLive(record) ? [record.grant] : [])))
}

/**
 * Of grants, the newest first, those that still give access: by a token or a webhook, or as the only one with a scope, which
 * decides what the app's own webhooks are told of.
 */
async function inUse(
  { records, grantsOfWebhooks }: GrantBoundParts,
  userId: number,
  grants: readonly HeldGrant[],
): Promise<ReadonlySet<HeldGrant>> {
  const [tokens, webhooks] = await Promise.all([
    withTokens(records, String(userId)),
    grantsOfWebhooks(userId),
  ])
  const youngest = Date.now() / 1000 - youngSeconds
  const covered = new Set<string>()
  return new Set(
    grants.filter(({ id, iat, scopes }) => {
      const isWider = [...scopes].some(scope => !hasScope(covered, scope))
      for (const scope of scopes) covered.add(scope)
      return isWider || iat > youngest || tokens.has(id) || webhooks.has(grantHash(id))
    }),
  )
}

/**
 * The ids of the grants that have to end: beyond `maxGrants`, the oldest of those that give access to nothing any more; where
 * all others are in use, the oldest of these, as elsewhere (Google ends the oldest of 100 refresh tokens, too).
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
  const ending = unused.slice(Math.max(0, keptGrants - used.size))
  const left = grants.filter(grant => !ending.includes(grant))
  return [...ending, ...left.slice(maxGrants)].map(({ id }) => id)
}
