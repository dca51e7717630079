/**
 * Writes that are safe to retry: the reply to a write with an `Idempotency-Key` is stored in the write's own transaction,
 * and replayed to the same request. There is never a second effect, across nodes, threads and restarts.
 */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { Records } from '../../base/records.ts'
import type { RateCounters } from '../cluster/cluster.ts'
import type { Run } from '../plan/run.ts'
import { createAllowance } from './allowance.ts'
import { findUnreadable } from './readable.ts'
import { type KeyedRequest, keyedRequest } from './request.ts'
import {
  hashAccess,
  idempotencyKind,
  KeyedAttempt,
  KeyTaken,
  type ShownItem,
  type StoredReply,
  stillRunningError,
  waitMs,
} from './transaction.ts'

export { keyHeader } from './key.ts'
export { KeyedAttempt, KeyTaken, type Replayable, type ShownItem } from './transaction.ts'
export { writeOnce } from './write-once.ts'

export interface IdempotencyParts {
  /** For reads with the rights of the caller. */
  readonly run: Run
  /** Encrypted; see `EncryptedRecords`. */
  readonly records: Records
  readonly counters: RateCounters
  readonly now?: () => EpochMs
}

/**
 * Executes a write. With an attempt, its transaction runs `attempt.steps`; without one, the request has no key. Throws or
 * rejects if nothing was changed.
 */
export type Write = (attempt?: KeyedAttempt) => Awaitable<Reply>

export interface Idempotency {
  /**
   * The reply to a write: the stored one if the same request was answered before under its key, else that of `write`. A request
   * without the header is passed to `write`. `variant`: what else the response depends on, e.g. its media type.
   * Rejects with BAD_REQUEST, IDEMPOTENCY_KEY_REUSED, CONFLICT while another one runs, or RATE_LIMITED.
   */
  answer(call: Call, principal: Principal, write: Write, variant?: string): Awaitable<Reply>
  /** Whether a reply is stored under the key of the call, before its body has arrived. The body decides whether it is replayed. */
  hasReply(call: Call, principal: Principal): Promise<boolean>
}

interface KeyedWrite {
  readonly request: KeyedRequest
  readonly principal: Principal
  readonly write: Write
}

export function createIdempotency(parts: IdempotencyParts): Idempotency {
  const writes = new KeyedWrites(parts)
  return {
    answer(call, principal, write, variant) {
      const request = keyedRequest(call, principal, variant)
      return request === undefined ? write() : writes.answer({ request, principal, write })
    },
    async hasReply(call, principal) {
      const request = keyedRequest(call, principal)
      return request !== undefined && (await parts.records.get(idempotencyKind, request.id)) !== undefined
    },
  }
}

class KeyedWrites {
  readonly #parts: IdempotencyParts
  readonly #now: () => number
  readonly #allowance: ReturnType<typeof createAllowance>
  /** Running requests of this process, by the ids of their records; each promise resolves when its request ends. */
  readonly #running = new Map<string, Promise<void>>()

  constructor(parts: IdempotencyParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
    this.#allowance = createAllowance(parts.counters)
  }

  async answer(keyed: KeyedWrite): Promise<Reply> {
    const { id } = keyed.request
    const deadline = performance.now() + waitMs
    for (;;) {
      const stored = await this.#find(keyed.request)
      if (stored) return this.#replay(stored, keyed.principal)
      const running = this.#running.get(id)
      if (running === undefined) {
        const reply = await this.#execute(keyed)
        if (reply !== undefined) return reply
      } else {
        if (performance.now() >= deadline) throw stillRunningError()
        await waitUntilEnded(running, deadline)
      }
    }
  }

  async #find({ id, fingerprint }: KeyedRequest): Promise<StoredReply | undefined> {
    const record = await this.#parts.records.get(idempotencyKind, id)
    if (!record) return undefined
    const stored = JSON.parse(record.payload) as StoredReply
    if (stored.fingerprint !== fingerprint) throw new ApiError('IDEMPOTENCY_KEY_REUSED')
    return stored
  }

  async #replay(stored: StoredReply, principal: Principal): Promise<Reply> {
    const { status, headers, body, short, items } = stored
    const isSame = stored.access === hashAccess(principal)
    const hidden = isSame ? await findUnreadable(this.#parts.run, principal, items) : items
    const isWhole = isSame && hidden.length === 0 && body !== undefined
    const visibleBody = isSame && body !== undefined ? withoutItems(body, hidden) : undefined
    return {
      status,
      headers: [...(isWhole ? headers : withoutETag(headers)), 'Idempotent-Replayed', 'true'],
      body: visibleBody === undefined ? short : visibleBody,
    }
  }

  /** Executes the request. Undefined if another node has executed it. Rejects if another node holds the key for too long. */
  #execute(keyed: KeyedWrite): Promise<Reply | undefined> {
    const { id } = keyed.request
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(id, promise)
    const { blocked, done } = this.#begin(keyed)
    const ended = done.finally(() => {
      this.#running.delete(id)
      resolve()
    })
    return Promise.race([ended, blocked])
  }

  #begin(keyed: KeyedWrite) {
    const { promise: blocked, reject } = Promise.withResolvers<never>()
    const run = async () => {
      const { request, principal } = keyed
      const mayStoreLong = await this.#allowance.begin(request.scope)
      const attempt = new KeyedAttempt({ request, principal, mayStoreLong, now: this.#now })
      attempt.blocked.catch(reject)
      return this.#attempt(keyed, attempt).finally(() => {
        attempt.end()
        this.#allowance.end(request.scope, attempt.storedCharacters)
      })
    }
    return { blocked, done: run() }
  }

  async #attempt({ request, write }: KeyedWrite, attempt: KeyedAttempt): Promise<Reply | undefined> {
    try {
      return await write(attempt)
    } catch (error) {
      if (error instanceof KeyTaken) return undefined
      if (attempt.reply === undefined) throw error
      return await this.#settle(request, attempt, error)
    }
  }

  /** All steps have run, but the commit has failed, or a step after it. */
  async #settle(request: KeyedRequest, attempt: KeyedAttempt, error: unknown): Promise<Reply> {
    const isUnconfirmed = error instanceof ApiError && error.isUnconfirmed
    const stored = await this.#find(request).catch(() => undefined)
    const isOurs = stored?.attempt === attempt.id
    if (isUnconfirmed && isOurs && attempt.reply) return attempt.reply
    // Refused after the commit, by a step that has reverted the effect.
    if (isOurs) await this.#parts.records.delete(idempotencyKind, request.id).catch(() => false)
    throw isUnconfirmed ? retryable(error) : error
  }
}

/** The request may be sent again with its key: if its effect was stored, it is answered from the record. */
function retryable(cause: unknown): ApiError {
  return new ApiError(
    'UNAVAILABLE',
    'The change may have been stored: send the same request again with the same Idempotency-Key.',
    { headers: { 'Retry-After': '1' }, cause },
  )
}

/** The body with only the ids of these items; undefined if it cannot be cut. */
function withoutItems(body: string | null, hidden: readonly ShownItem[]): string | null | undefined {
  if (body === null || hidden.length === 0) return body
  let result = body
  for (const { id, at } of hidden.toSorted((a, b) => (b.at?.[0] ?? 0) - (a.at?.[0] ?? 0))) {
    if (at === undefined) return undefined
    result = `${result.slice(0, at[0])}{"id":${id}}${result.slice(at[1])}`
  }
  return result
}

/** With the ETag, a client could check guesses of the hidden values. */
function withoutETag(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => headers[index - (index % 2)] !== 'ETag')
}

/** Resolves when the request has ended, or at the deadline. */
async function waitUntilEnded(running: Promise<void>, deadline: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.max(0, deadline - performance.now()))
  await Promise.race([running, timeout])
  clearTimeout(timer)
}
