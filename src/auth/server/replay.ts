/**
 * The answer to a refresh, given again for a few seconds to the very same request: where an app refreshes twice
 * at once, both get the same tokens, and nothing counts as used twice. Whichever node is asked: it is kept among
 * the records, sealed with the refresh token, of which no record has more than a hash.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Context, Middleware } from 'oidc-provider'
import type { Records, StoredRecord } from '../../records.ts'

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: unknown
}

export interface ReplayParts {
  readonly records: Records
  /** How long answers are kept. */
  readonly seconds: number
  /** The form of a token request. */
  readonly formOf: (ctx: Context) => string | undefined
  /** An error that no client may see. */
  readonly onFault: (error: unknown) => void
}

const KIND = 'RefreshReplay'
/** The longest that a refresh may take, in milliseconds: by then who began it has died. */
const LONGEST = 10_000
/** How often it is looked whether another node has finished, in milliseconds. */
const LOOK = 20

export function replayRefreshes({ records, seconds, formOf, onFault }: ReplayParts): Middleware {
  /** What others were answered; `first`: nobody was, and this request answers for them. */
  const known = async (id: string): Promise<StoredRecord | 'first' | undefined> => {
    for (const end = performance.now() + LONGEST; performance.now() < end; ) {
      const found = await records.get(KIND, id)
      if (found && found.payload !== '') return found
      const claim = { kind: KIND, id, payload: '', expiresAt: Date.now() + LONGEST }
      if (!found && (await records.add(claim))) return 'first'
      await wait(LOOK)
    }
    return undefined
  }
  const keep = async (id: string, payload: string | undefined) => {
    if (payload === undefined) await records.delete(KIND, id)
    else await records.put({ kind: KIND, id, payload, expiresAt: Date.now() + seconds * 1000 })
  }
  const answerFirst = async (ctx: Context, next: () => Promise<void>, id: string, token: string) => {
    let payload: string | undefined
    try {
      await next()
      const { status, type, body } = ctx
      if (status === 200) payload = seal({ status, type, body }, token, id)
    } finally {
      // The tokens are made: their app must get them, whatever becomes of the copy.
      await keep(id, payload).catch(onFault)
    }
  }
  return async (ctx, next) => {
    const form = new URLSearchParams(formOf(ctx))
    const token = form.get('refresh_token')
    if (form.get('grant_type') !== 'refresh_token' || !token) return next()
    const id = idOf([`${form}`, ctx.get('authorization'), ctx.get('dpop')])
    const found = await known(id).catch(error => void onFault(error))
    if (found === 'first') return answerFirst(ctx, next, id, token)
    return found ? give(ctx, unseal(found, token)) : next()
  }
}

function idOf(request: readonly string[]): string {
  return hash('sha256', JSON.stringify(request), 'base64url')
}

const CIPHER = 'aes-256-gcm'
const IV = 12
const TAG = 16

function keyOf(token: string, id: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, id, 'the answer to a refresh', 32))
}

function seal(answer: Answer, token: string, id: string): string {
  const iv = randomBytes(IV)
  const cipher = createCipheriv(CIPHER, keyOf(token, id), iv)
  const text = Buffer.concat([cipher.update(JSON.stringify(answer)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
}

function unseal({ payload, id }: StoredRecord, token: string): Answer {
  const sealed = Buffer.from(payload, 'base64url')
  const decipher = createDecipheriv(CIPHER, keyOf(token, id), sealed.subarray(0, IV))
  decipher.setAuthTag(sealed.subarray(IV, IV + TAG))
  return JSON.parse(
    `${decipher.update(sealed.subarray(IV + TAG), undefined, 'utf8')}${decipher.final('utf8')}`,
  )
}

function give(ctx: Context, { status, type, body }: Answer): void {
  ctx.status = status
  ctx.set('cache-control', 'no-store')
  ctx.body = body
  ctx.type = type
}
