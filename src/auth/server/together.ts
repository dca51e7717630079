/**
 * The writes of a token request, in one commit: what is issued and what is used up for it are put off until the
 * library has made its answer, and the answer until they are on disk.
 */
import type { Context } from 'oidc-provider'
import { currentContext } from './browsers.ts'
import { noteReason } from './grant-refusals.ts'
import type { Provider } from './library.ts'

type Write = () => Promise<unknown>

const waiting = new WeakMap<Context, Write[]>()

/** Puts a write off where it belongs to a token request, or does it now. */
export async function together(write: Write): Promise<void> {
  const ctx = currentContext()
  const writes = ctx && waiting.get(ctx)
  if (writes) writes.push(write)
  else await write()
}

interface Refusal {
  readonly error: string
  readonly error_description?: string
  readonly error_detail?: string
  readonly statusCode: number
}

/** An error of the library that a client may see. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && 'error' in error && 'statusCode' in error
}

async function settle(ctx: Context, writes: readonly Write[]): Promise<void> {
  // Asked for in one turn, they share a commit.
  const outcomes = await Promise.allSettled(writes.map(write => write()))
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (!failed) return
  if (!isRefusal(failed.reason)) throw failed.reason
  const { error, error_description, statusCode } = failed.reason
  noteReason(ctx, failed.reason)
  ctx.status = statusCode
  ctx.body = { error, error_description }
}

/** To be used after everything that reads the answer. */
export function writeTogether(provider: Provider, path: string): void {
  provider.use(async (ctx, next) => {
    if (ctx.path !== path) return next()
    const writes: Write[] = []
    waiting.set(ctx, writes)
    try {
      await next()
    } finally {
      waiting.delete(ctx)
      if (writes.length > 0) await settle(ctx, writes)
    }
  })
}
