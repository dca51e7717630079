/**
 * The secrets of apps, each a row of `oauth_app_secrets`. Creating a secret stores when the older ones expire. Deleting a
 * secret ends it at once, and makes no other one valid again. Older versions of Portico kept an app's first secret in the column `secret_hash`, and
 * computed when secrets expire; these secrets are migrated when the app is first read.
 */
import { ApiError } from '../../../errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { CardinalityLimit } from '../../../plan/plan.ts'
import type { Run } from '../../../plan/run.ts'
import {
  createPlan,
  deleteShape,
  itemShape,
  listShape,
  readItem,
  updateShape,
  where,
} from '../../../plan/system-plans.ts'
import type { ProgramSteps } from '../../../plan/transaction.ts'
import { system } from '../../../principal.ts'
import type { Records } from '../../../records.ts'
import { createBySystem } from '../../bootstrap.ts'
import { newClientSecret, secretHash, secretPrefix } from '../secret.ts'
import { type AppRow, type AppSecretRow, appById, maxSecrets } from './apps.ts'

/** A secret of an app, for comparison. */
export interface SecretHash {
  readonly hash: string
  /** Milliseconds since 1970; undefined: never. */
  readonly expiresAt: number | undefined
}

/** The known prefix of a secret that was migrated from the column. */
const migratedPrefix = 'ps_'

export const secretsPerAppLimit: CardinalityLimit = {
  field: 'app_id',
  count: maxSecrets,
  refusal: `An app may have at most ${maxSecrets} secrets, including expired ones: delete one first.`,
}

const endedSecretKind = 'EndedSecret'
/** How long the note of a deleted secret is kept: longer than a node takes from reading the column to storing the row. */
const endedNoteMs = 24 * 60 * 60 * 1000

/** Milliseconds since 1970; undefined: never. */
type Expiry = number | undefined

function isMigrated({ prefix }: AppSecretRow): boolean {
  return prefix === migratedPrefix
}

/** Ordered by id, since the clocks of nodes differ. Migrated secrets are older than all others. */
function isNewer(one: AppSecretRow, other: AppSecretRow): boolean {
  return isMigrated(one) === isMigrated(other) ? one.id > other.id : isMigrated(other)
}

function earliest(ends: readonly Expiry[]): Expiry {
  const times = ends.filter(end => end !== undefined)
  return times.length === 0 ? undefined : Math.min(...times)
}

/** When a secret expires that is older than all of `newer`. */
function endedBy(newer: readonly AppSecretRow[], overlapSeconds: number): Expiry {
  return earliest(newer.map(({ created_at }) => Date.parse(created_at) + overlapSeconds * 1000))
}

/**
 * When a secret expires, in milliseconds since 1970: as stored, or else computed from the newer secrets, so that a rotation
 * takes effect before the expiries are stored.
 */
function endOf(secret: AppSecretRow, all: readonly AppSecretRow[], overlapSeconds: number): Expiry {
  if (secret.expires_at !== null) return Date.parse(secret.expires_at)
  return endedBy(
    all.filter(one => isNewer(one, secret)),
    overlapSeconds,
  )
}

/** When the secret in the column expires. Migrated secrets are not newer than it. */
function endOfFirst(secrets: readonly AppSecretRow[], overlapSeconds: number): Expiry {
  return endedBy(
    secrets.filter(one => !isMigrated(one)),
    overlapSeconds,
  )
}

/** The expiry to store. If the overlap was shortened, a rotation may make a stored expiry earlier, but never later. */
function endToStore(secret: AppSecretRow, all: readonly AppSecretRow[], overlapSeconds: number): Expiry {
  const current = all.filter(one => one.expires_at === null && isNewer(one, secret))
  return earliest([endOf(secret, all, overlapSeconds), endedBy(current, overlapSeconds)])
}

/**
 * The secrets that an app may use, the newest first. `overlapSeconds`: how long a secret remains valid after a newer one
 * is created, if its expiry is not stored yet.
 */
export function secretHashes(
  { secrets, secret_hash: first }: Pick<AppRow, 'secrets' | 'secret_hash'>,
  overlapSeconds: number,
): readonly SecretHash[] {
  const hashes = secrets.map(secret => ({
    hash: secret.hash,
    expiresAt: endOf(secret, secrets, overlapSeconds),
  }))
  // If the secret has a row, the row decides.
  if (first === null || secrets.some(({ hash }) => hash === first)) return hashes
  return [...hashes, { hash: first, expiresAt: endOfFirst(secrets, overlapSeconds) }]
}

const setEnd = updateShape('oauth_app_secrets', ['expires_at'])
const setColumn = updateShape('oauth_apps', ['secret_hash'])
const removal = deleteShape('oauth_app_secrets')

/** Own argument: false. */
const unmigratedApps = listShape('oauth_apps', ['id'], where('secret_hash', 'null'))

const secretById = itemShape('oauth_app_secrets', ['app_id', 'hash', 'prefix'])

/** How many apps are migrated in parallel: their writes share commits. */
const migrationBatchSize = 50

/** The row already exists, or its target or parent no longer does. */
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

/** A new secret, with the values that are stored. */
export function newSecret(): NewSecret {
  const secret = newClientSecret()
  return { secret, computed: { hash: secretHash(secret), prefix: secretPrefix(secret) } }
}

/** Stores the first secret of a new app, in the transaction that creates the app. */
export function* addFirst(appId: number, { computed }: NewSecret): ProgramSteps<void> {
  yield { as: system, plan: createPlan('oauth_app_secrets', {}, { ...computed, app_id: appId }) }
}

export interface AppSecretsParts {
  readonly run: Run
  readonly records: Records
  /** How long a secret remains valid after a newer one is created. */
  readonly overlapSeconds: number
}

/** Creates, ends and migrates the secrets of apps. */
export class AppSecrets {
  readonly #parts: AppSecretsParts

  constructor(parts: AppSecretsParts) {
    this.#parts = parts
  }

  /** Creates a secret; the older ones expire after the overlap. Throws CONFLICT if the app has `maxSecrets`. */
  async rotate(appId: number): Promise<string> {
    const { secret, computed } = newSecret()
    const { shape, args } = createPlan('oauth_app_secrets', {}, { ...computed, app_id: appId })
    await this.#parts.run.write({ shape: { ...shape, limit: secretsPerAppLimit }, args }, system)
    await this.settle(appId)
    return secret
  }

  /** Deletes a secret, which ends it at once. Throws NOT_FOUND if it does not exist. */
  async end(id: number): Promise<void> {
    await this.beforeDelete(id)
    await this.#parts.run.write({ shape: removal, args: [id] }, system)
  }

  /** Stores the expiries of the other secrets, which the deletion must not change, and that this one was deleted. */
  async beforeDelete(id: number): Promise<void> {
    const { run, records } = this.#parts
    const secret = await readItem<AppSecretRow & { readonly app_id: number }>(run, secretById, id)
    if (!secret) return
    await this.settle(secret.app_id)
    if (!isMigrated(secret)) return
    await records.put({
      kind: endedSecretKind,
      id: secret.hash,
      payload: '{}',
      expiresAt: Date.now() + endedNoteMs,
    })
  }

  /** Stores when the secrets of an app expire, and migrates the one in its column. Idempotent. */
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
    if (app.secret_hash !== null) await this.#migrate(app, app.secret_hash)
  }

  /** Migrates the secrets of all apps that have one in their column. */
  async moveAll(): Promise<void> {
    const { run } = this.#parts
    const seen = new Set<number>()
    for (;;) {
      const { text } = await run.list({ shape: unmigratedApps, args: [0, migrationBatchSize, false] }, system)
      const ids = (JSON.parse(text ?? '[]') as { readonly id: number }[]).map(({ id }) => id)
      // Apps that cannot be migrated are found again each time.
      if (ids.every(id => seen.has(id))) return
      await Promise.all(ids.map(id => this.settle(id)))
      for (const id of ids) seen.add(id)
    }
  }

  /** The row first: if the process dies in between, the next one finds the secret in the column. */
  async #migrate(app: AppRow, hash: string): Promise<void> {
    const { run, records, overlapSeconds } = this.#parts
    const end = endOfFirst(app.secrets, overlapSeconds)
    const isOver = end !== undefined && end <= Date.now()
    if (!isOver && app.secrets.every(one => one.hash !== hash)) {
      const computed: Record<string, JsonValue> = { app_id: app.id, hash, prefix: migratedPrefix }
      if (end !== undefined) computed.expires_at = new Date(end).toISOString()
      // For nodes of older versions the row with the highest id is the newest, and its time ends the others.
      if (app.secrets.length === 0) computed.created_at = app.created_at
      const createdId = await unlessRefused(createBySystem(run, 'oauth_app_secrets', {}, computed))
      // Another node migrated the secret first, and it has been deleted since.
      if (createdId !== undefined && (await records.get(endedSecretKind, hash))) {
        await unlessRefused(run.write({ shape: removal, args: [createdId] }, system))
      }
    }
    await unlessRefused(run.write({ shape: setColumn, args: [app.id, null] }, system))
  }
}
