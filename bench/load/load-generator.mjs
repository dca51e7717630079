// Runs autocannon with the load in the file that the first argument names; prints the result as JSON.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { origin, requests, clients, seconds, headers } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const result = await autocannon({ url: origin, connections: clients, duration: seconds, headers, requests })
const measured = {
  perSecond: (result.requests.total - result.non2xx) / result.duration,
  answered: result.requests.total - result.non2xx,
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
  refused: result.non2xx,
  next: 0,
}
process.stdout.write(`\n${JSON.stringify(measured)}\n`)
