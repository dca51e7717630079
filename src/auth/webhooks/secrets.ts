/** The secrets of webhooks, each webhook's in an encrypted record that is deleted with it. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '../../errors.ts'
import { type Awaitable, then } from '../../plan/answer.ts'
import { type NewRecord, type Records, recordsOfItems, type StoredRecord } from '../../records.ts'

const kind = recordsOfItems.get('webhooks') ?? ''

/** Standard Webhooks 1.0 asks for 24 to 64 bytes. */
const secretBytes = 32

interface StoredSecrets {
  readonly secret: string
  readonly previous?: {
    readonly secret: string
    /** Until when it signs beside the other, in milliseconds since 1970. */
    readonly until: number
  }
}

/** As Standard Webhooks 1.0 writes it: `whsec_` and the key in base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`
}

/** The record of a new webhook. `userId`: its owner. */
export function secretRecord(webhookId: number, userId: number, secret: string): NewRecord {
  const payload = JSON.stringify({ secret } satisfies StoredSecrets)
  return { kind, id: String(webhookId), payload, expiresAt: null, owner: String(userId) }
}

export class WebhookSecrets {
  readonly #records: Records
  readonly #overlapMs: number
  readonly #now: () => number

  /** `overlapSeconds`: how long a secret signs beside the one that replaces it. */
  constructor(records: Records, overlapSeconds: number, now: () => number = Date.now) {
    this.#records = records
    this.#overlapMs = overlapSeconds * 1000
    this.#now = now
  }

  /** The secrets that sign a delivery now, the newest first; none where the webhook is gone. */
  current(webhookId: number): Awaitable<readonly string[]> {
    return then(this.#records.get(kind, String(webhookId)), record => {
      if (record === undefined) return []
      const { secret, previous } = storedIn(record)
      return previous !== undefined && previous.until > this.#now() ? [secret, previous.secret] : [secret]
    })
  }

  /** Grows when a secret may have changed. */
  version(): number {
    return this.#records.version(kind)
  }

  /** Replaces the secret, which goes on signing for the overlap, and returns the new one. */
  async rotate(webhookId: number, userId: number): Promise<string> {
    const secret = newWebhookSecret()
    const stored = await this.#records.get(kind, String(webhookId))
    if (stored === undefined) {
      if (await this.#records.add(secretRecord(webhookId, userId, secret))) return secret
    } else if (await this.#replace(stored, secret)) return secret
    throw new ApiError('CONFLICT', 'The secret was changed at the same moment. Try again.')
  }

  #replace(record: StoredRecord, secret: string): Promise<boolean> {
    const previous = { secret: storedIn(record).secret, until: this.#now() + this.#overlapMs }
    const after: StoredSecrets = this.#overlapMs === 0 ? { secret } : { secret, previous }
    return this.#records.swap(record, record.payload, JSON.stringify(after))
  }
}

function storedIn({ payload }: StoredRecord): StoredSecrets {
  return JSON.parse(payload) as StoredSecrets
}
