/** The transaction of a write with an `Idempotency-Key`: its record commits with the effect. */
import { hash, randomUUID } from 'node:crypto'
import type { Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { ProgramSteps } from '../plan/transaction.ts'
import type { KeyedRequest } from './request.ts'

export const idempotencyKind = 'IdempotencyKey'
const retentionMs = 24 * 60 * 60 * 1000
/** How long a request waits for another one with the same key. */
export const waitMs = 2000
/** A longer payload is stored only within the caller's allowance. */
export const smallPayloadCharacters = 2048

/** An item in a response body. */
export interface ShownItem {
  readonly collection: string
  readonly id: number
  /** Where its object begins and ends in the body; undefined if the body cannot be cut. */
  readonly at?: readonly [from: number, to: number]
}

/** The reply to a write that took effect. */
export interface Replayable {
  /** Its body must be a text or null. */
  readonly reply: Reply
  /** The body for a caller with other rights, or if the body cannot be cut: only ids. */
  readonly short: string | null
  /** The items of which the body shows more than the id. A caller that may no longer read one gets only its id. */
  readonly items: readonly ShownItem[]
}

/** The payload of a record. */
export interface StoredReply {
  readonly fingerprint: string
  /** The id of the attempt that took effect. */
  readonly attempt: string
  /** The hash of the caller's rights. */
  readonly access: string
  readonly status: number
  readonly headers: readonly string[]
  /** Undefined if only the short body was stored. */
  readonly body?: string | null
  readonly short: string | null
  readonly items: readonly ShownItem[]
}

/** Another request with the key has taken effect, so this one is rolled back. No client sees this error. */
export class KeyTaken extends ApiError {
  constructor() {
    super('INTERNAL_ERROR', 'Another request with the same Idempotency-Key has been carried out.')
  }
}

export function stillRunningError(): ApiError {
  return new ApiError(
    'CONFLICT',
    'A request with the same Idempotency-Key is still running: send this one again later, with the same key.',
    { headers: { 'Retry-After': '1' } },
  )
}

/** A hash of the caller's rights, without its row rules. */
export function hashAccess({ access, claims, app }: Principal): string {
  const parts = [access.key, claims?.key, app && `app ${app.id}`]
  return hash('sha256', parts.filter(part => part != null).join(' '), 'base64url')
}

interface AttemptOptions {
  readonly request: KeyedRequest
  readonly principal: Principal
  /** Whether a long payload may be stored with its body. */
  readonly mayStoreLong: boolean
  readonly now: () => number
}

/** One attempt to execute a request. */
export class KeyedAttempt {
  readonly id = randomUUID()
  /** Rejects with CONFLICT when another transaction has held the key for two seconds; never resolves. */
  readonly blocked: Promise<never>
  readonly #options: AttemptOptions
  readonly #rejectBlocked: (error: ApiError) => void
  /** Set once all steps have run. The commit may still fail. */
  #stored: { readonly reply: Reply; readonly payload: string } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: AttemptOptions) {
    const { promise, reject } = Promise.withResolvers<never>()
    this.#options = options
    this.blocked = promise
    this.#rejectBlocked = reject
  }

  get reply(): Reply | undefined {
    return this.#stored?.reply
  }

  /** The length of the stored payload; 0 if nothing was stored. */
  get storedCharacters(): number {
    return this.#stored?.payload.length ?? 0
  }

  /** Stops waiting for other requests. */
  end(): void {
    clearTimeout(this.#timer)
  }

  /**
   * The steps of `body`, and those of the record: throws `KeyTaken` before any other step if the key is taken, and stores
   * the reply that `body` returns. All steps belong to one transaction, and may run again.
   */
  *steps(body: () => ProgramSteps<Replayable>): ProgramSteps<Reply> {
    this.#stored = undefined
    // Comes first, so that another request with the key waits here and holds no other lock.
    yield* this.#takeKey()
    return yield* this.replySteps(body)
  }

  /** The steps of `body`, and one that stores the reply. In a later transaction, they replace the reply. */
  *replySteps(body: () => ProgramSteps<Replayable>): ProgramSteps<Reply> {
    const replayable = yield* body()
    const payload = this.#payloadOf(replayable)
    yield { kind: 'put', record: this.#recordWith(payload) }
    this.#stored = { reply: replayable.reply, payload }
    return replayable.reply
  }

  *#takeKey(): ProgramSteps<void> {
    this.end()
    this.#timer = setTimeout(() => this.#rejectBlocked(stillRunningError()), waitMs)
    const isFirst = yield { kind: 'add', record: this.#recordWith('{}') }
    this.end()
    if (!isFirst) throw new KeyTaken()
  }

  #recordWith(payload: string) {
    const { request, principal, now } = this.#options
    const owner = principal.userId === null ? undefined : String(principal.userId)
    return { kind: idempotencyKind, id: request.id, payload, expiresAt: now() + retentionMs, owner }
  }

  #payloadOf({ reply, short, items }: Replayable): string {
    const { request, principal, mayStoreLong } = this.#options
    const { status, headers, body } = reply
    const withoutBody = {
      fingerprint: request.fingerprint,
      attempt: this.id,
      access: hashAccess(principal),
      status,
      headers,
      short,
      items,
    }
    if (body !== null && typeof body !== 'string') throw new TypeError('only a text can be replayed')
    const withBody = JSON.stringify({ ...withoutBody, body } satisfies StoredReply)
    if (mayStoreLong || withBody.length <= smallPayloadCharacters) return withBody
    return JSON.stringify(withoutBody satisfies StoredReply)
  }
}
