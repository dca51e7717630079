/**
 * Repeats the response to a refresh, for some seconds, when exactly the same request is sent again. An app that refreshes
 * twice at the same time gets the same tokens both times, and its refresh token does not count as reused. Any node can
 * repeat the response: it is stored as a record, encrypted with the refresh token, of which the database has only a hash.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Context, Middleware } from 'oidc-provider'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { routes } from '../provider/configuration.ts'
import { currentState } from '../provider/request-state.ts'
import { firstValue, formText } from '../requests/form.ts'

interface Response {
  readonly status: number
  readonly type: string
  readonly body: unknown
}

export interface ReplayParts {
  readonly records: Records
  /** How long responses are kept. */
  readonly seconds: number
  /** Called with errors that no client may see. */
  readonly onFault: (error: unknown) => void
}

const recordKind = 'RefreshReplay'
/** Longer than any refresh takes: the process that stored an older claim has died. */
const claimLifetimeMs = 10_000
const pollIntervalMs = 20

/**
 * Middleware that answers a repeated refresh request like the first one, for `seconds`. Equal requests of other
 * nodes wait for it.
 */
export function replayRefreshes({ records, seconds, onFault }: ReplayParts): Middleware {
  /** The stored response to an equal request; `first`: no other request has begun, and others now wait for this one. */
  const claim = async (id: string): Promise<StoredRecord | 'first' | undefined> => {
    for (const end = performance.now() + claimLifetimeMs; performance.now() < end; ) {
      const stored = await records.get(recordKind, id)
      if (stored && stored.payload !== '') return stored
      const newClaim = { kind: recordKind, id, payload: '', expiresAt: Date.now() + claimLifetimeMs }
      if (!stored && (await records.add(newClaim))) return 'first'
      await wait(pollIntervalMs)
    }
    return undefined
  }
  const store = async (id: string, payload: string | undefined) => {
    if (payload === undefined) await records.delete(recordKind, id)
    else await records.put({ kind: recordKind, id, payload, expiresAt: Date.now() + seconds * 1000 })
  }
  const answerFirst = async (ctx: Context, next: () => Promise<void>, id: string, token: string) => {
    let payload: string | undefined
    try {
      await next()
      const { status, type, body } = ctx
      if (status === 200) payload = encrypt({ status, type, body }, token, id)
    } finally {
      // The tokens are issued, so the app must get them even if the response cannot be stored.
      await store(id, payload).catch(onFault)
    }
  }
  return async (ctx, next) => {
    const form = ctx.path === routes.token ? currentState()?.form : undefined
    const token = form && firstValue(form, 'refresh_token')
    if (!token || firstValue(form, 'grant_type') !== 'refresh_token') return next()
    const id = idOf([formText(form), ctx.get('authorization'), ctx.get('dpop')])
    const stored = await claim(id).catch(error => void onFault(error))
    if (stored === 'first') return answerFirst(ctx, next, id, token)
    return stored ? repeat(ctx, decrypt(stored, token)) : next()
  }
}

function idOf(request: readonly string[]): string {
  return hash('sha256', JSON.stringify(request), 'base64url')
}

const cipherName = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

function keyOf(token: string, id: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, id, 'the answer to a refresh', 32))
}

function encrypt(response: Response, token: string, id: string): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(cipherName, keyOf(token, id), iv)
  const text = Buffer.concat([cipher.update(JSON.stringify(response)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
}

function decrypt({ payload, id }: StoredRecord, token: string): Response {
  const bytes = Buffer.from(payload, 'base64url')
  const decipher = createDecipheriv(cipherName, keyOf(token, id), bytes.subarray(0, ivBytes))
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  const text = decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8')
  return JSON.parse(text + decipher.final('utf8'))
}

function repeat(ctx: Context, { status, type, body }: Response): void {
  ctx.status = status
  ctx.set('cache-control', 'no-store')
  ctx.body = body
  ctx.type = type
}
