/** A process that sends requests and then has nothing to do. Exit code 3: something keeps it running. */
import { setTimeout as wait } from 'node:timers/promises'
import { Outgoing } from '../../../src/delivery/outgoing/outgoing.ts'

const [, , url = ''] = process.argv
const outgoing = new Outgoing({ allowPrivate: true })
const limits = { timeoutMs: 60_000, maxBodyBytes: 1000 }

await Promise.all([outgoing.request({ url, ...limits }), outgoing.request({ url, ...limits })])
await outgoing.request({ url: `${url}large`, ...limits, truncates: true })
await outgoing.request({ url: `${url}large`, ...limits }).catch(() => {})
await outgoing.request({ url: `${url}never`, ...limits, signal: AbortSignal.timeout(50) }).catch(() => {})
await outgoing.request({ url: 'http://127.0.0.1:1/', ...limits }).catch(() => {})
console.info('done')

// Shorter than the lifetime of idle connections. It does not fire unless something keeps the process running.
wait(3000, undefined, { ref: false }).then(() => process.exit(3))
