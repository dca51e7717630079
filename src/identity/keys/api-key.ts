/** API keys as credentials: key → Principal. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { Cache, CacheBound } from '../../base/cache.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { allowedScopes, intersectScopes, type Principal, user } from '../../base/principal.ts'
import type { Run } from '../../engine/plan/run.ts'
import { listShape, readFirst, selected, where } from '../../engine/plan/system-plans.ts'
import type { PlainReader } from '../authenticate.ts'
import { disabledCredential } from '../disabled-account.ts'
import { type Used, useStepMs } from '../last-use.ts'
import type { AppRights } from '../server/clients/apps.ts'
import type { RightsOfGrant } from '../server/consent/live-grants.ts'
import { isKey, keyHash } from './key.ts'
import type { KeyOrigin } from './origin.ts'

const maxCachedKeys = 100_000
/** A separate cache, so that guessed keys do not evict valid ones. */
const maxCachedRefusals = 10_000

const byHash = listShape(
  'api_keys',
  [
    'id',
    'user_id',
    'scopes',
    'expires_at',
    'third_party',
    'grant',
    {
      kind: 'relation',
      key: 'user',
      relation: 'user',
      select: selected(['role', 'disabled']),
      list: undefined,
    },
  ],
  where('hash'),
)

interface KeyWithUser {
  readonly id: number
  readonly user_id: number
  readonly scopes: readonly string[] | null
  readonly expires_at: string | null
  readonly third_party: boolean | null
  readonly grant: KeyOrigin['grant']
  readonly user: { readonly role: string; readonly disabled: boolean } | null
}

/** `rights`: the present rights of the app from whose grant the key descends; undefined if it descends from none. */
function principalOf(
  { id, user_id, scopes, third_party }: KeyWithUser,
  role: string,
  expiresAt: number,
  rights: AppRights | undefined,
): Principal {
  const thirdParty = third_party === true || rights?.firstParty === false
  const present = intersectScopes(allowedScopes(scopes), rights?.scopes ?? 'all')
  const { app = null, budget: appBudget } = rights ?? {}
  const delegate = { app, appBudget, grant: `key:${id}`, thirdParty }
  return user(user_id, role, present, undefined, expiresAt, delegate)
}

/** The owner of a key. */
interface KeyOwner {
  readonly principal: Principal | null
  readonly expiresAt: EpochMs
  /** Whether the key is refused only because its user's account is disabled. */
  readonly isDisabled: boolean
  readonly keyId: number
  /** The version of the grants at which its own was found in force; undefined if it descends from none. */
  readonly grantsVersion: number | undefined
  /** The next use is stored from this time on. */
  nextNoteAt: EpochMs
}

interface ApiKeyOptions {
  readonly run: Run
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** The OAuth grants from which keys descend. `version` grows with every change of a grant or an app. */
  readonly grants: { readonly rightsOfGrant: RightsOfGrant; readonly version: () => number }
  /** A key from the settings, which need not have the checksum of generated keys. */
  readonly adminApiKey?: string | undefined
  /** Called at most once an hour for each key in the cache. */
  readonly onUse?: ((used: Used) => void) | undefined
  readonly now?: () => number
}

/** Counts cache hits. */
export interface ApiKeyReader extends PlainReader {
  readonly counts: { hits: number; misses: number }
}

/**
 * Reads API keys: undefined for a bearer token that is not a key, null for a key that is wrong, expired or revoked.
 * Throws UNAUTHORIZED if the account of its user is disabled.
 */
export function apiKeyReader(options: ApiKeyOptions): ApiKeyReader {
  const { run, version, grants, adminApiKey, onUse, now = Date.now } = options
  const adminHash = adminApiKey === undefined ? undefined : keyHash(adminApiKey)
  const mayBeKey = (text: string) => text.startsWith('pk_') || text.length === adminApiKey?.length
  const accepted = new Cache<string, KeyOwner>(new CacheBound('api_keys', maxCachedKeys))
  const refused = new Cache<string, KeyOwner>(new CacheBound('refused_api_keys', maxCachedRefusals))
  const counts = { hits: 0, misses: 0 }
  /** Valid keys by their text, because hashing costs more than everything else. As many as are cached by their hash. */
  const byText = new Cache<string, KeyOwner>(new CacheBound('api_key_texts', maxCachedKeys))

  /** The rights of a key depend on its own row and on its user's role. No version decreases, so neither does their sum. */
  const currentStamp = () => version('api_keys') + version('users')

  const ownerOf = (
    row: KeyWithUser | undefined,
    app: AppRights | undefined,
    grantsVersion?: number,
  ): KeyOwner => {
    const expiresAt = row?.expires_at ? Date.parse(row.expires_at) : Number.POSITIVE_INFINITY
    const isDisabled = row?.user?.disabled === true
    const hasEnded = grantsVersion !== undefined && app === undefined
    const isUsable = row?.user && !isDisabled && !hasEnded
    const principal = isUsable ? principalOf(row, row.user.role, expiresAt, app) : null
    return { principal, expiresAt, isDisabled, keyId: row?.id ?? 0, grantsVersion, nextNoteAt: 0 }
  }
  const remember = (hash: string, owner: KeyOwner, stamp: number) => {
    const cache = owner.principal ? accepted : refused
    cache.set(hash, owner, 1, stamp)
    return owner
  }
  const find = (hash: string): Awaitable<KeyOwner> =>
    then(readFirst<KeyWithUser>(run, byHash, hash), row => {
      if (!row?.grant) return ownerOf(row, undefined)
      const grantsVersion = grants.version()
      const rights = grants.rightsOfGrant(row.user_id, row.grant.slice('grant:'.length))
      return then(rights, app => ownerOf(row, app, grantsVersion))
    })
  /** Undefined if the grant from which the key descends may have changed. */
  const ifCurrent = (owner: KeyOwner | undefined) =>
    owner?.grantsVersion === undefined || owner.grantsVersion === grants.version() ? owner : undefined
  const noteUse = ({ principal, keyId }: KeyOwner) => {
    const userId = principal?.userId
    if (userId) onUse?.({ kind: 'KeyUse', id: String(keyId), owner: String(userId), expiresAt: null })
  }
  const principalNow = (owner: KeyOwner) => {
    const nowMs = now()
    if (owner.expiresAt <= nowMs) return null
    if (owner.isDisabled) throw disabledCredential()
    if (nowMs >= owner.nextNoteAt) {
      owner.nextNoteAt = nowMs + useStepMs
      noteUse(owner)
    }
    return owner.principal
  }

  return {
    counts,
    read({ place, text }) {
      if (place === 'dpop') return undefined
      const stamp = currentStamp()
      const cachedByText = ifCurrent(byText.get(text, stamp))
      if (cachedByText) {
        counts.hits++
        return principalNow(cachedByText)
      }
      if (place === 'bearer' && !mayBeKey(text)) return undefined
      const hash = keyHash(text)
      if (place === 'bearer' && !text.startsWith('pk_') && hash !== adminHash) return undefined
      const owner = ifCurrent(accepted.get(hash, stamp)) ?? ifCurrent(refused.get(hash, stamp))
      if (owner) {
        counts.hits++
        if (owner.principal) byText.set(text, owner, 1, stamp)
        return principalNow(owner)
      }
      if (hash !== adminHash && !isKey(text)) return null
      counts.misses++
      return then(find(hash), found => principalNow(remember(hash, found, stamp)))
    },
  }
}
