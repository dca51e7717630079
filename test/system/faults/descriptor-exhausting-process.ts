/**
 * A service that cannot open files, connections or processes for a while. It logs to standard output, and prints the statuses
 * of its answers as the last line.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { devNull } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { anyone, collection, integer, model } from '../../../src/index.ts'
import { serve } from '../../../src/server/serve/serve.ts'

const numbers = model({ numbers: collection({ fields: { n: integer() }, access: { read: anyone } }) })
const [, , file = ''] = process.argv
const service = await serve(numbers, { port: 0, database: file, rateLimit: 'off', logLevel: 'info' })
const database = new DatabaseSync(file, { timeout: 10_000 })
database.exec(`INSERT INTO "numbers" ("n", "created_at")
  WITH RECURSIVE "c"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "c" WHERE "i" < 100000)
  SELECT "i" * 7919 % 100000, '2026-01-01T00:00:00.000Z' FROM "c"`)
database.close()

/** Every request has the connection of the first one. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function statusOf(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/html, application/json;q=0.9' }
    get(service.url + path, { agent, headers }, answer => {
      answer.resume().once('end', () => resolve(answer.statusCode))
    }).once('error', reject)
  })
}

async function statuses(): Promise<readonly (number | undefined)[]> {
  const paths = ['/docs/guides', '/graphql', '/api/v1/numbers?sort=n&per_page=5']
  const all: (number | undefined)[] = []
  for (const path of paths) all.push(await statusOf(path))
  return all
}

await statusOf('/healthz')
const descriptors: number[] = []
try {
  for (;;) descriptors.push(openSync(devNull, 'r'))
} catch {
  // As intended.
}
const during = [await statuses(), await statuses(), await statuses()]
for (const descriptor of descriptors) closeSync(descriptor)
const afterwards = await statuses()
await sleep(2500)
agent.destroy()
await service.close()
writeSync(1, `${JSON.stringify({ during, afterwards })}\n`)
