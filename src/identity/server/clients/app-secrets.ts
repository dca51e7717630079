/**
 * The secrets of apps, each a row of `oauth_app_secrets`. Creating a secret stores when the older ones expire. Deleting a
 * secret ends it at once, and makes no other one valid again.
 */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { ApiError } from '../../../base/errors.ts'
import { system } from '../../../base/principal.ts'
import type { CardinalityLimit } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import {
  createPlan,
  deleteShape,
  itemShape,
  readItem,
  updateShape,
} from '../../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../../engine/plan/transaction.ts'
import { newClientSecret, secretHash, secretPrefix } from '../secret.ts'
import { type AppRow, type AppSecretRow, appById, maxSecrets } from './apps.ts'

/** A secret of an app, for comparison. */
export interface SecretHash {
  readonly hash: string
  /** Undefined: never. */
  readonly expiresAt: EpochMs | undefined
}

export const secretsPerAppLimit: CardinalityLimit = {
  field: 'app_id',
  count: maxSecrets,
  refusal: `An app may have at most ${maxSecrets} secrets, including expired ones: delete one first.`,
}

/** Undefined: never. */
type Expiry = EpochMs | undefined

/** By id, since the clocks of nodes differ. */
function isNewer(one: AppSecretRow, other: AppSecretRow): boolean {
  return one.id > other.id
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
 * When a secret expires: as stored, or else computed from the newer secrets, so that a rotation takes effect before the
 * expiries are stored.
 */
function endOf(secret: AppSecretRow, all: readonly AppSecretRow[], overlapSeconds: number): Expiry {
  if (secret.expires_at !== null) return Date.parse(secret.expires_at)
  return endedBy(
    all.filter(one => isNewer(one, secret)),
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
  { secrets }: Pick<AppRow, 'secrets'>,
  overlapSeconds: number,
): readonly SecretHash[] {
  return secrets.map(secret => ({
    hash: secret.hash,
    expiresAt: endOf(secret, secrets, overlapSeconds),
  }))
}

const setEnd = updateShape('oauth_app_secrets', ['expires_at'])
const removal = deleteShape('oauth_app_secrets')

const secretById = itemShape('oauth_app_secrets', ['app_id'])

/** The row may have been deleted in the meantime. */
async function unlessMissing(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
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
  yield planAs(system, createPlan('oauth_app_secrets', {}, { ...computed, app_id: appId }))
}

export interface AppSecretsParts {
  readonly run: Run
  /** How long a secret remains valid after a newer one is created. */
  readonly overlapSeconds: number
}

/** Creates and ends the secrets of apps. */
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

  /** Stores the expiries of the other secrets, which the deletion must not change. */
  async beforeDelete(id: number): Promise<void> {
    const secret = await readItem<{ readonly app_id: number }>(this.#parts.run, secretById, id)
    if (secret) await this.settle(secret.app_id)
  }

  /** Stores when the secrets of an app expire. Idempotent. */
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
      return [unlessMissing(run.write({ shape: setEnd, args }, system))]
    })
    await Promise.all(writes)
  }
}
