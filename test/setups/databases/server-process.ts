/** Starts a PostgreSQL server, prints its URL or its error, and stops it when standard input ends. */
import { fastSettings, PostgresServer } from './postgres-server.ts'

function untilEnded(): Promise<void> {
  return new Promise(resolve => {
    process.stdin.on('end', resolve).on('error', resolve).resume()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve())
  })
}

const stopped = untilEnded()
try {
  // Nothing is replicated from it: new tables need not be logged.
  const server = new PostgresServer({ ...fastSettings, wal_level: 'minimal', max_wal_senders: 0 })
  await server.start()
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
  await stopped
  await server.remove()
} catch (error) {
  process.stdout.write(
    `${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`,
  )
}
process.exit()
