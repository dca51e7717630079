/**
 * The secrets of apps: each is a row of `oauth_app_secrets` that ends once and for all. Making one stores when those
 * before it end; deleting one ends it at once, and revives no other. Older versions kept an app's first secret in the
 * column `secret_hash` and computed ends from the rows: what they have stored is moved when it is first seen.
 */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Filter, ListShape, UpdateShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { system } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { createBySystem } from '../bootstrap.ts'
import { type AppRow, type AppSecretRow, appById } from './apps.ts'
import { newClientSecret, secretHash, secretPrefix } from './secret.ts'

/** A secret of an app, as it is compared. */
export interface SecretHash {
  readonly hash: string
  /** Milliseconds since 1970; undefined: never. */
  readonly expiresAt: number | undefined
}

/** All that is known of the beginning of a secret that was moved from the column. */
const movedPrefix = 'ps_'

const ENDED = 'EndedSecret'
/** How long an ended secret is noted: longer than a node waits between reading the column and storing the row. */
const endedNoteMs = 24 * 60 * 60 * 1000

type End = number | undefined

function isMoved({ prefix }: AppSecretRow): boolean {
  return prefix === movedPrefix
}

/** Ids tell the order, whatever the clocks of the nodes say; what was moved is from before all of them. */
function isNewer(one: AppSecretRow, other: AppSecretRow): boolean {
  return isMoved(one) === isMoved(other) ? one.id > other.id : isMoved(other)
}

function earliest(ends: readonly End[]): End {
  const known = ends.filter(end => end !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** When a secret ends that is older than these. */
function endedBy(newer: readonly AppSecretRow[], overlapSeconds: number): End {
  return earliest(newer.map(({ created_at }) => Date.parse(created_at) + overlapSeconds * 1000))
}

/**
 * When a secret ends, in milliseconds since 1970: what is stored counts, and where nothing is yet, what is newer, so that
 * a rotation counts before its ends are stored.
 */
function endOf(secret: AppSecretRow, all: readonly AppSecretRow[], overlapSeconds: number): End {
  if (secret.expires_at !== null) return Date.parse(secret.expires_at)
  return endedBy(
    all.filter(one => isNewer(one, secret)),
    overlapSeconds,
  )
}

/** Of the secret in the column: what was moved from there before is none that came after it. */
function endOfFirst(secrets: readonly AppSecretRow[], overlapSeconds: number): End {
  return endedBy(
    secrets.filter(one => !isMoved(one)),
    overlapSeconds,
  )
}

/** What is to be stored of it: a rotation after the overlap was shortened ends earlier what was to end later. */
function endToStore(secret: AppSecretRow, all: readonly AppSecretRow[], overlapSeconds: number): End {
  const current = all.filter(one => one.expires_at === null && isNewer(one, secret))
  return earliest([endOf(secret, all, overlapSeconds), endedBy(current, overlapSeconds)])
}

/**
 * The secrets that an app may use, the newest first. `overlapSeconds`: how long a secret works on after a newer one
 * was made, where its end is not stored yet.
 */
export function secretHashes(
  { secrets, secret_hash: first }: Pick<AppRow, 'secrets' | 'secret_hash'>,
  overlapSeconds: number,
): readonly SecretHash[] {
  const hashes = secrets.map(secret => ({
    hash: secret.hash,
    expiresAt: endOf(secret, secrets, overlapSeconds),
  }))
  // Where there is a row of it, that one counts.
  if (first === null || secrets.some(({ hash }) => hash === first)) return hashes
  return [...hashes, { hash: first, expiresAt: endOfFirst(secrets, overlapSeconds) }]
}

function updateOf(collection: string, field: string): UpdateShape {
  return {
    kind: 'update',
    mode: 'merge',
    collection,
    id: 0,
    set: [{ field, param: 1 }],
    ifMatch: undefined,
    select: [{ kind: 'field', key: 'id', field: 'id' }],
  }
}

const setEnd = updateOf('oauth_app_secrets', 'expires_at')
const setColumn = updateOf('oauth_apps', 'secret_hash')
const removal = { kind: 'delete', collection: 'oauth_app_secrets', id: 0, ifMatch: undefined } as const
const appRemoval = { ...removal, collection: 'oauth_apps' } as const

function listOf(collection: string, filter: Filter, fields: readonly string[]): ListShape {
  return {
    kind: 'list',
    collection,
    within: undefined,
    filter,
    search: undefined,
    sort: [],
    window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
    select: fields.map(field => ({ kind: 'field', key: field, field })),
  }
}

/** Params: 0 false, 1 offset, 2 limit. */
const unmoved = listOf('oauth_apps', { kind: 'compare', field: 'secret_hash', operator: 'null', param: 0 }, [
  'id',
])

/** Params: 0 the id, 1 offset, 2 limit. */
const secretById = listOf('oauth_app_secrets', { kind: 'compare', field: 'id', operator: 'eq', param: 0 }, [
  'app_id',
  'hash',
  'prefix',
])

/** How many apps are moved at once: their writes share commits. */
const movedAtOnce = 50

/** The row is there already, or what is to be changed, or what it belongs to, is not. */
const refusals: ReadonlySet<string> = new Set(['CONFLICT', 'NOT_FOUND', 'VALIDATION_FAILED'])

async function unlessRefused<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write
  } catch (error) {
    if (error instanceof ApiError && refusals.has(error.code)) return undefined
    throw error
  }
}

export interface NewSecret {
  readonly secret: string
  readonly computed: Readonly<Record<'hash' | 'prefix', string>>
}

/** A secret, and what is stored of it. */
export function newSecret(): NewSecret {
  const secret = newClientSecret()
  return { secret, computed: { hash: secretHash(secret), prefix: secretPrefix(secret) } }
}

export interface AppSecretsParts {
  readonly run: Run
  readonly records: Records
  /** How long a secret works on after a newer one was made. */
  readonly overlapSeconds: number
}

export class AppSecrets {
  readonly #parts: AppSecretsParts

  constructor(parts: AppSecretsParts) {
    this.#parts = parts
  }

  /** Stores the first secret of an app that was just made. Where that fails the app goes again. */
  async addFirst(appId: number, { computed }: NewSecret): Promise<void> {
    const { run } = this.#parts
    try {
      await createBySystem(run, 'oauth_app_secrets', {}, { ...computed, app_id: appId })
    } catch (error) {
      await run.write({ shape: appRemoval, args: [appId] }, system).catch(() => undefined)
      throw error
    }
  }

  /** Makes a secret; those before it end after the overlap. */
  async rotate(appId: number): Promise<string> {
    const { secret, computed } = newSecret()
    await createBySystem(this.#parts.run, 'oauth_app_secrets', {}, { ...computed, app_id: appId })
    await this.settle(appId)
    return secret
  }

  /** Ends a secret at once. NOT_FOUND where there is none. */
  async end(id: number): Promise<void> {
    await this.beforeDelete(id)
    await this.#parts.run.write({ shape: removal, args: [id] }, system)
  }

  /** Stores what the secret's deletion must not change: the ends of the others, and that it is gone. */
  async beforeDelete(id: number): Promise<void> {
    const { run, records } = this.#parts
    const { text } = await run.list({ shape: secretById, args: [id, 0, 1] }, system)
    const [found] = JSON.parse(text ?? '[]') as (AppSecretRow & { readonly app_id: number })[]
    if (!found) return
    await this.settle(found.app_id)
    if (!isMoved(found)) return
    await records.put({ kind: ENDED, id: found.hash, payload: '{}', expiresAt: Date.now() + endedNoteMs })
  }

  /** Stores when the secrets of an app end, and makes a row of the one in its column. Changes nothing a second time. */
  async settle(appId: number): Promise<void> {
    const { run, overlapSeconds } = this.#parts
    const app = await appById(run, appId)
    if (!app) return
    const { secrets } = app
    const writes = secrets.flatMap(secret => {
      const end = endToStore(secret, secrets, overlapSeconds)
      if (end === undefined || (secret.expires_at !== null && end === Date.parse(secret.expires_at)))
        return []
      const args = [secret.id, new Date(end).toISOString()]
      return [unlessRefused(run.write({ shape: setEnd, args }, system))]
    })
    await Promise.all(writes)
    if (app.secret_hash !== null) await this.#move(app, app.secret_hash)
  }

  /** Moves the secrets of all apps that have one in their column. */
  async moveAll(): Promise<void> {
    const { run } = this.#parts
    const seen = new Set<number>()
    for (;;) {
      const { text } = await run.list({ shape: unmoved, args: [false, 0, movedAtOnce] }, system)
      const ids = (JSON.parse(text ?? '[]') as { readonly id: number }[]).map(({ id }) => id)
      // What cannot be moved would be found without end.
      if (ids.every(id => seen.has(id))) return
      await Promise.all(ids.map(id => this.settle(id)))
      for (const id of ids) seen.add(id)
    }
  }

  /** The row first: a node that stops in between leaves the secret where the next one finds it. */
  async #move(app: AppRow, hash: string): Promise<void> {
    const { run, records, overlapSeconds } = this.#parts
    const end = endOfFirst(app.secrets, overlapSeconds)
    const isOver = end !== undefined && end <= Date.now()
    if (!isOver && app.secrets.every(one => one.hash !== hash)) {
      const computed: Record<string, JsonValue> = { app_id: app.id, hash, prefix: movedPrefix }
      if (end !== undefined) computed.expires_at = new Date(end).toISOString()
      // Nodes of older versions take the row with the highest id as the newest, which ends the others by its time.
      if (app.secrets.length === 0) computed.created_at = app.created_at
      const made = await unlessRefused(createBySystem(run, 'oauth_app_secrets', {}, computed))
      // Another node was faster, and its row was deleted since.
      if (made !== undefined && (await records.get(ENDED, hash))) {
        await unlessRefused(run.write({ shape: removal, args: [made] }, system))
      }
    }
    await unlessRefused(run.write({ shape: setColumn, args: [app.id, null] }, system))
  }
}
