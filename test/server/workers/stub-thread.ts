/** A stub worker, controlled by its number and by messages. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'

const { worker, settings } = workerData as { worker: number; settings: { readonly fails?: number } }

if (settings.fails === worker) {
  parentPort?.postMessage({ kind: 'failed', error: { name: 'Sad', message: 'no luck', code: 'EBAD' } })
  process.exit(1)
}

const received: string[] = []
let reports = 0
const peers = new Map<number, MessagePort>()
const handlers: Record<string, (message: { id?: number; worker?: number; port?: MessagePort }) => void> = {
  stop: () => process.exit(0),
  'report-metrics': ({ id }) => {
    const text = `# HELP received How many.\n# TYPE received counter\nreceived{from="${received}"} 1\n`
    const total = `# HELP reports_total How often.\n# TYPE reports_total counter\nreports_total ${++reports}\n`
    const alive = '# HELP alive How many.\n# TYPE alive gauge\nalive 1\n'
    parentPort?.postMessage({ kind: 'metrics', id, text: text + total + alive })
  },
  peer: ({ worker: other = 0, port }) => {
    if (!port) return
    peers.set(other, port)
    port.on('message', text => received.push(text))
    port.postMessage(`${worker}`)
  },
  die: () => {
    throw new RangeError('crashed by the test')
  },
  hang: () => {
    for (;;);
  },
}
parentPort?.on('message', message => handlers[message.kind]?.(message))
parentPort?.postMessage({ kind: 'log', text: `worker ${worker}\n` })
parentPort?.postMessage({ kind: 'ready', url: `http://localhost:${9000 + worker}` })
