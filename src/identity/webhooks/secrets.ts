/** The secrets of webhooks. An encrypted record contains all secrets of a webhook, and is deleted with it. */

import { randomBytes } from 'node:crypto'
import { type Awaitable, then } from '../../base/awaitable.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { type NewRecord, type Records, recordsOfItems } from '../../base/records.ts'

const recordKind = recordsOfItems.get('webhooks') ?? ''

/** Standard Webhooks 1.0 asks for 24 to 64 bytes. */
const secretBytes = 32

/** More than one, because a client that has lost the response to a rotation rotates again while it still uses the first secret. */
const maxPrevious = 4

interface StoredSecrets {
  readonly secret: string
  /** `secret_version` of the webhook. */
  readonly version: number
  /** The newest first. */
  readonly previous: readonly PreviousSecret[]
}

interface PreviousSecret {
  readonly secret: string
  /** The end of its validity. */
  readonly until: EpochMs
}

/** A new secret, and the record to store. */
export interface Rotation {
  readonly secret: string
  /** The version of the secret that it replaces. */
  readonly replaces: number
  readonly record: NewRecord
}

/** As Standard Webhooks 1.0 writes it: `whsec_` and the key in base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`
}

function recordOf(webhookId: number, userId: number, secrets: StoredSecrets): NewRecord {
  const payload = JSON.stringify(secrets)
  return { kind: recordKind, id: String(webhookId), payload, expiresAt: null, owner: String(userId) }
}

/** The record of a new webhook. `userId`: its owner. */
export function secretRecord(webhookId: number, userId: number, secret: string): NewRecord {
  return recordOf(webhookId, userId, { secret, version: 0, previous: [] })
}

/** Reads and rotates the secrets that sign deliveries. */
export class WebhookSecrets {
  readonly #records: Pick<Records, 'get' | 'version'>
  readonly #overlapMs: number
  readonly #now: () => number

  /** `overlapSeconds`: how long a replaced secret still signs. */
  constructor(
    records: Pick<Records, 'get' | 'version'>,
    overlapSeconds: number,
    now: () => number = Date.now,
  ) {
    this.#records = records
    this.#overlapMs = overlapSeconds * 1000
    this.#now = now
  }

  /** The secrets that sign a delivery now, the newest first; empty if the webhook does not exist. */
  current(webhookId: number): Awaitable<readonly string[]> {
    return then(this.#stored(webhookId), stored => {
      if (stored === undefined) return []
      return [stored.secret, ...this.#unexpired(stored).map(({ secret }) => secret)]
    })
  }

  /** A new secret. Store it in a transaction that checks that `secret_version` of the webhook is still `replaces`. */
  rotation(webhookId: number, userId: number): Awaitable<Rotation> {
    const secret = newWebhookSecret()
    return then(this.#stored(webhookId), stored => {
      if (stored === undefined) throw new ApiError('NOT_FOUND')
      const { version } = stored
      const secrets = { secret, version: version + 1, previous: this.#previousAfter(stored) }
      return { secret, replaces: version, record: recordOf(webhookId, userId, secrets) }
    })
  }

  #stored(webhookId: number): Awaitable<StoredSecrets | undefined> {
    return then(this.#records.get(recordKind, String(webhookId)), record =>
      record === undefined ? undefined : (JSON.parse(record.payload) as StoredSecrets),
    )
  }

  /** The previous secrets after a rotation. */
  #previousAfter(stored: StoredSecrets): readonly PreviousSecret[] {
    if (this.#overlapMs === 0) return []
    const replaced = { secret: stored.secret, until: this.#now() + this.#overlapMs }
    return [replaced, ...this.#unexpired(stored)].slice(0, maxPrevious)
  }

  #unexpired({ previous }: StoredSecrets): readonly PreviousSecret[] {
    return previous.filter(({ until }) => until > this.#now())
  }
}
