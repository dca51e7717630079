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
  const server = new PostgresServer(fastSettings)
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
