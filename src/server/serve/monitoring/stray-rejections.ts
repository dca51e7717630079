/** Unhandled rejections in the model's code. */
import type { Log } from '../../observability/log.ts'

/**
 * Logs unhandled rejections, which would otherwise end the process. For processes and threads that do nothing but serve: a
 * program that embeds the service decides for itself. Returns a function that removes the listener.
 */
export function logStrayRejections({ logger }: Pick<Log, 'logger'>): () => void {
  const report = (reason: unknown) => {
    const err = reason instanceof Error ? reason : new Error(`It was rejected with ${String(reason)}.`)
    logger.error({ err }, 'a promise was rejected, and nothing waits for it')
  }
  process.on('unhandledRejection', report)
  return () => process.off('unhandledRejection', report)
}
