/**
 * The answer to a refresh, given again for a few seconds to the very same request: where an app refreshes twice
 * at once, both get the same tokens, and nothing counts as used twice. Kept in this process only, by a hash of
 * the credentials and the form.
 */
import { hash } from 'node:crypto'
import type { Context, Middleware } from 'oidc-provider'

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: unknown
}

const MAX_KEPT = 10_000

/** `formOf`: the form of a token request; `seconds`: how long answers are kept. */
export function replayRefreshes(seconds: number, formOf: (ctx: Context) => string | undefined): Middleware {
  const kept = new Map<string, Promise<Answer>>()
  return async (ctx, next) => {
    const form = formOf(ctx)
    if (form === undefined || new URLSearchParams(form).get('grant_type') !== 'refresh_token') return next()
    const key = hash('sha256', JSON.stringify([form, ctx.get('authorization'), ctx.get('dpop')]), 'base64url')
    const known = kept.get(key)
    if (known) return give(ctx, await known)
    if (kept.size >= MAX_KEPT) return next()
    const answer = next().then(() => ({ status: ctx.status, type: ctx.type, body: ctx.body }))
    kept.set(key, answer)
    const forget = () => void kept.delete(key)
    answer.then(({ status }) => {
      if (status === 200) setTimeout(forget, seconds * 1000).unref()
      else forget()
    }, forget)
    await answer
  }
}

function give(ctx: Context, { status, type, body }: Answer): void {
  ctx.status = status
  ctx.set('cache-control', 'no-store')
  ctx.body = body
  ctx.type = type
}
