/** API keys as credentials: key → Principal. */
import { Cache, CacheBound } from '../../cache.ts'
import { then } from '../../plan/answer.ts'
import type { Run } from '../../plan/run.ts'
import { listShape, readFirst, selected, where } from '../../plan/system-plans.ts'
import { allowedScopes, type Principal, user } from '../../principal.ts'
import type { PlainReader } from '../authenticate.ts'
import { disabledCredential } from '../disabled-account.ts'
import { type Used, useStepMs } from '../last-use.ts'
import { isKey, keyHash } from './key.ts'

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
  readonly user: { readonly role: string; readonly disabled: boolean } | null
}

function principalOf(
  { id, user_id, scopes, third_party }: KeyWithUser,
  role: string,
  expiresAt: number,
): Principal {
  const delegate = { appId: null, grant: `key:${id}`, thirdParty: third_party === true }
  return user(user_id, role, allowedScopes(scopes), undefined, expiresAt, delegate)
}

/** The owner of a key. */
interface KeyOwner {
  readonly principal: Principal | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Whether the key is refused only because its user's account is disabled. */
  readonly isDisabled: boolean
  readonly keyId: number
  /** The next use is stored from this time on, in milliseconds since 1970. */
  nextNoteAt: number
}

interface ApiKeyOptions {
  readonly run: Run
  /** See `Store.version`. */
  readonly version: (collection: string) => number
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
  const { run, version, adminApiKey, onUse, now = Date.now } = options
  const adminHash = adminApiKey === undefined ? undefined : keyHash(adminApiKey)
  const mayBeKey = (text: string) => text.startsWith('pk_') || text.length === adminApiKey?.length
  const accepted = new Cache<string, KeyOwner>(new CacheBound('api_keys', maxCachedKeys))
  const refused = new Cache<string, KeyOwner>(new CacheBound('refused_api_keys', maxCachedRefusals))
  const counts = { hits: 0, misses: 0 }
  /** Valid keys by their text, because hashing costs more than everything else. As many as are cached by their hash. */
  const byText = new Cache<string, KeyOwner>(new CacheBound('api_key_texts', maxCachedKeys))

  /** The rights of a key depend on its own row and on its user's role. No version decreases, so neither does their sum. */
  const currentStamp = () => version('api_keys') + version('users')

  const remember = (hash: string, row: KeyWithUser | undefined, stamp: number) => {
    const expiresAt = row?.expires_at ? Date.parse(row.expires_at) : Number.POSITIVE_INFINITY
    const isDisabled = row?.user?.disabled === true
    const principal = row?.user && !isDisabled ? principalOf(row, row.user.role, expiresAt) : null
    const owner: KeyOwner = { principal, expiresAt, isDisabled, keyId: row?.id ?? 0, nextNoteAt: 0 }
    const cache = principal ? accepted : refused
    cache.set(hash, owner, 1, stamp)
    return owner
  }
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
      const cachedByText = byText.get(text, stamp)
      if (cachedByText) {
        counts.hits++
        return principalNow(cachedByText)
      }
      if (place === 'bearer' && !mayBeKey(text)) return undefined
      const hash = keyHash(text)
      if (place === 'bearer' && !text.startsWith('pk_') && hash !== adminHash) return undefined
      const owner = accepted.get(hash, stamp) ?? refused.get(hash, stamp)
      if (owner) {
        counts.hits++
        if (owner.principal) byText.set(text, owner, 1, stamp)
        return principalNow(owner)
      }
      if (hash !== adminHash && !isKey(text)) return null
      counts.misses++
      return then(readFirst<KeyWithUser>(run, byHash, hash), row => principalNow(remember(hash, row, stamp)))
    },
  }
}
