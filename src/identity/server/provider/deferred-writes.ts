/**
 * A token request is one commit: the tokens that it issues and the code that it consumes are written together after
 * oidc-provider has built the response. The response is sent once they are on disk.
 */
import { noteInvalidGrant } from '../responses/invalid-grant.ts'
import type { Provider } from './load.ts'
import { currentState } from './request-state.ts'

type Write = () => Promise<unknown>

/** Defers a write of a token request; does any other write at once. */
export async function writeWithResponse(write: Write): Promise<void> {
  const deferred = currentState()?.deferredWrites
  if (deferred) deferred.push(write)
  else await write()
}

/** An error of oidc-provider that a client may see. */
interface ProtocolError {
  readonly error: string
  readonly error_description?: string
  readonly error_detail?: string
  readonly statusCode: number
}

function isProtocolError(error: unknown): error is ProtocolError {
  return error instanceof Error && 'error' in error && 'statusCode' in error
}

/** Returns the error that the client gets instead of its tokens, if a write was refused. */
async function writeAll(writes: readonly Write[]): Promise<ProtocolError | undefined> {
  // Writes that start in one turn of the event loop share a commit.
  const outcomes = await Promise.allSettled(writes.map(write => write()))
  const failure = outcomes.find(outcome => outcome.status === 'rejected')
  if (!failure) return undefined
  if (isProtocolError(failure.reason)) return failure.reason
  throw failure.reason
}

/** Install it after every middleware that reads the response. */
export function deferWrites(provider: Provider, path: string): void {
  provider.use(async (ctx, next) => {
    const state = currentState()
    if (ctx.path !== path || !state) return next()
    const writes: Write[] = []
    state.deferredWrites = writes
    try {
      await next()
    } finally {
      delete state.deferredWrites
      const refusal = await writeAll(writes)
      if (refusal) {
        const { error, error_description, statusCode } = refusal
        noteInvalidGrant(refusal)
        ctx.status = statusCode
        ctx.body = { error, error_description }
      }
    }
  })
}
