/** API keys as credentials: key → Principal. */
import { type Awaitable, type ListAnswer, then } from '../plan/answer.ts'
import type { ListShape, Plan } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { type Principal, type Scopes, system, user } from '../principal.ts'
import type { PlainReader } from './authenticate.ts'
import { isKey, keyHash } from './key.ts'

/** The rights of a key depend on its own row and on its user's role. */
const dependsOn = ['api_keys', 'users'] as const

const MAX_REMEMBERED = 100_000
const MAX_REFUSED = 10_000

const byHash: ListShape = {
  kind: 'list',
  collection: 'api_keys',
  within: undefined,
  filter: { kind: 'compare', field: 'hash', operator: 'eq', param: 0 },
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
  select: [
    { kind: 'field', key: 'user_id', field: 'user_id' },
    { kind: 'field', key: 'scopes', field: 'scopes' },
    { kind: 'field', key: 'expires_at', field: 'expires_at' },
    {
      kind: 'relation',
      key: 'user',
      relation: 'user',
      select: [{ kind: 'field', key: 'role', field: 'role' }],
      list: undefined,
    },
  ],
}

interface KeyRow {
  readonly user_id: number
  readonly scopes: readonly string[] | null
  readonly expires_at: string | null
  readonly user: { readonly role: string } | null
}

function findRow(run: Run, hash: string): Awaitable<KeyRow | undefined> {
  const plan: Plan<ListShape> = { shape: byHash, args: [hash, 0, 1] }
  return then(run.list(plan, system), (answer: ListAnswer) => JSON.parse(answer.text ?? '[]')[0])
}

/** What a key's `scopes` allow: `*` is everything that the user may do. */
export function scopesOf(listed: readonly string[] | null): Scopes {
  return listed === null || listed.includes('*') ? 'all' : new Set(listed)
}

/** A key's owner, remembered while nothing that it depends on has changed. */
interface Remembered {
  readonly principal: Principal | null
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly versions: readonly number[]
}

interface ApiKeyOptions {
  readonly run: Run
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** A key from the settings, which may lack the checksum that our own have. */
  readonly adminApiKey?: string | undefined
  readonly now?: () => number
}

/** Counts how often the database need not be asked. */
export interface ApiKeyReader extends PlainReader {
  readonly counts: { hits: number; misses: number }
}

export function apiKeyReader(options: ApiKeyOptions): ApiKeyReader {
  const { run, version, adminApiKey, now = Date.now } = options
  const adminHash = adminApiKey === undefined ? undefined : keyHash(adminApiKey)
  const mayBeKey = (text: string) => text.startsWith('pk_') || text.length === adminApiKey?.length
  const known = new Map<string, Remembered>()
  const refused = new Map<string, Remembered>()
  const counts = { hits: 0, misses: 0 }
  /** Good keys by themselves: a hash costs more than all the rest. As many as are known by their hash. */
  const byText = new Map<string, Remembered>()

  const isCurrent = (entry: Remembered) =>
    entry.versions[0] === version(dependsOn[0]) && entry.versions[1] === version(dependsOn[1])

  const remember = (hash: string, row: KeyRow | undefined, versions: readonly number[]) => {
    const expiresAt = row?.expires_at ? Date.parse(row.expires_at) : Number.POSITIVE_INFINITY
    const principal = row?.user
      ? user(row.user_id, row.user.role, scopesOf(row.scopes), undefined, expiresAt)
      : null
    const entry = { principal, expiresAt, versions }
    const map = principal ? known : refused
    const bound = principal ? MAX_REMEMBERED : MAX_REFUSED
    known.delete(hash)
    refused.delete(hash)
    if (map.size >= bound) map.delete(map.keys().next().value ?? '')
    map.set(hash, entry)
    return entry
  }
  const rememberText = (text: string, entry: Remembered) => {
    if (byText.size >= MAX_REMEMBERED) byText.delete(byText.keys().next().value ?? '')
    byText.set(text, entry)
  }
  const current = (entry: Remembered) => (entry.expiresAt > now() ? entry.principal : null)

  return {
    counts,
    read({ place, text }) {
      if (place === 'dpop') return undefined
      const remembered = byText.get(text)
      if (remembered && isCurrent(remembered)) {
        counts.hits++
        return current(remembered)
      }
      if (place === 'bearer' && !mayBeKey(text)) return undefined
      const hash = keyHash(text)
      if (place === 'bearer' && !text.startsWith('pk_') && hash !== adminHash) return undefined
      const entry = known.get(hash) ?? refused.get(hash)
      if (entry && isCurrent(entry)) {
        counts.hits++
        if (entry.principal) rememberText(text, entry)
        return current(entry)
      }
      if (hash !== adminHash && !isKey(text)) return null
      counts.misses++
      const versions = dependsOn.map(version)
      return then(findRow(run, hash), row => current(remember(hash, row, versions)))
    },
  }
}
