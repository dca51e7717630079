/** Promises of the model's code that are rejected while nobody waits for them. */
import type { Log } from '../../observability/log.ts'

/**
 * Logs them, in place of Node's way to end the process. For processes and threads that do nothing but serve: a program
 * that embeds the service has its own way. Returns what takes it back.
 */
export function logStrayRejections({ logger }: Pick<Log, 'logger'>): () => void {
  const report = (reason: unknown) => {
    const err = reason instanceof Error ? reason : new Error(`It was rejected with ${String(reason)}.`)
    logger.error({ err }, 'a promise was rejected, and nothing waits for it')
  }
  process.on('unhandledRejection', report)
  return () => process.off('unhandledRejection', report)
}
