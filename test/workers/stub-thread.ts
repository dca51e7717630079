/** In the place of a worker: does what its number and the messages say. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'

const { worker, settings } = workerData as { worker: number; settings: { readonly fails?: number } }

if (settings.fails === worker) {
  parentPort?.postMessage({ kind: 'failed', error: { name: 'Sad', message: 'no luck', code: 'EBAD' } })
  process.exit(1)
}

const heard: string[] = []
let told = 0
const peers = new Map<number, MessagePort>()
const handlers: Record<string, (message: { id?: number; worker?: number; port?: MessagePort }) => void> = {
  stop: () => process.exit(0),
  'report-metrics': ({ id }) => {
    const text = `# HELP heard How many.\n# TYPE heard counter\nheard{from="${heard}"} 1\n`
    const tells = `# HELP tells_total How often.\n# TYPE tells_total counter\ntells_total ${++told}\n`
    const alive = '# HELP alive How many.\n# TYPE alive gauge\nalive 1\n'
    parentPort?.postMessage({ kind: 'metrics', id, text: text + tells + alive })
  },
  peer: ({ worker: other = 0, port }) => {
    if (!port) return
    peers.set(other, port)
    port.on('message', text => heard.push(text))
    port.postMessage(`${worker}`)
  },
  die: () => {
    throw new RangeError('struck by lightning')
  },
  hang: () => {
    for (;;);
  },
}
parentPort?.on('message', message => handlers[message.kind]?.(message))
parentPort?.postMessage({ kind: 'log', text: `worker ${worker}\n` })
parentPort?.postMessage({ kind: 'ready', url: `http://localhost:${9000 + worker}` })
