/** What a worker shares with the others, as the service in it uses it. */
import type { MessagePort } from 'node:worker_threads'
import type { Cluster } from '../cluster/cluster.ts'
import type { MemoryCounters } from '../cluster/memory.ts'
import { sharedCounters } from '../cluster/shared-counters.ts'
import type { Neighbours } from '../store/sqlite/neighbours.ts'
import { COMMITS, FAILURES } from './memory.ts'
import type { Bell, FromWorker, Orders, ToWorker } from './messages.ts'
import { enlist, WriteLock } from './write-lock.ts'

export interface Crew {
  /** Of the threads of this process alone. */
  readonly cluster: Cluster & { readonly counters: MemoryCounters }
  readonly neighbours: Neighbours
  /** Where whole lines of the log go. */
  readonly log: { write(text: string): void }
  /** The figures of all workers as one text; `own` gives this one's. */
  gather(): Promise<string>
  /** Ends the process at once: no file is closed. Does not return. */
  abort(): never
  /** Who makes this worker's figures. */
  tellBy(own: () => Promise<string>): void
}

interface Boat extends Crew {
  readonly ready: (url: string) => void
  /** Sends what of the log is still here. */
  flush(): void
}

/** Connects a worker with the main thread, which is at `main`. `stop` is called when it should end. */
export function board({ worker, memory }: Orders, main: MessagePort, stop: () => void): Boat {
  const words = new Int32Array(memory.file)
  enlist(words, worker)
  const peers = new Map<number, MessagePort>()
  const listeners = new Set<() => void>()
  const asked = new Map<number, (text: string) => void>()
  const log = logOver(text => say({ kind: 'log', text }))
  let own: () => Promise<string> = async () => ''
  let count = 0
  let isWaking = false

  const say = (message: FromWorker) => main.postMessage(message)
  const ring = (to: number, bell: Bell) => peers.get(to)?.postMessage(bell)
  const lock = new WriteLock(words, worker, { ring: to => ring(to, 'lock') })
  const hear = () => {
    for (const listener of listeners) listener()
  }
  const meet = (to: number, port: MessagePort) => {
    peers.get(to)?.close()
    peers.set(to, port)
    port.on('message', (bell: Bell) => (bell === 'lock' ? lock.rung() : hear()))
  }
  const wake = () => {
    isWaking = false
    for (const to of peers.keys()) ring(to, 'commit')
  }
  const handlers: { [Kind in ToWorker['kind']]: (message: Extract<ToWorker, { kind: Kind }>) => void } = {
    stop,
    peer: message => meet(message.worker, message.port),
    tell: ({ id }) => void own().then(text => say({ kind: 'figures', id, text })),
    gathered: ({ id, text }) => {
      asked.get(id)?.(text)
      asked.delete(id)
    },
  }
  main.on('message', (message: ToWorker) => handlers[message.kind](message as never))

  return {
    cluster: {
      counters: sharedCounters(memory.counters),
      wake() {
        if (isWaking) return
        isWaking = true
        setImmediate(wake)
      },
      onWake(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      trouble: () => undefined,
      close: async () => listeners.clear(),
    },
    neighbours: {
      commits: () => Atomics.load(words, COMMITS),
      committed: () => void Atomics.add(words, COMMITS, 1),
      failures: () => Atomics.load(words, FAILURES),
      failed: () => void Atomics.add(words, FAILURES, 1),
      lock,
    },
    log,
    flush: log.flush,
    gather: () =>
      new Promise(resolve => {
        const id = count++
        asked.set(id, resolve)
        say({ kind: 'gather', id })
      }),
    abort() {
      say({ kind: 'abort' })
      // What runs on here could still close the database.
      for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    },
    tellBy: made => {
      own = made
    },
    ready: url => say({ kind: 'ready', url }),
  }
}

const BLOCK = 8192
/** How long a line waits for others, in milliseconds. */
const DELAY = 100

/** Lines go to the main thread in blocks: it alone writes, so that no line breaks another one. */
function logOver(send: (text: string) => void) {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting !== '') send(waiting)
    waiting = ''
  }
  return {
    write(text: string) {
      waiting += text
      if (waiting.length >= BLOCK) flush()
      else timer ??= setTimeout(flush, DELAY).unref()
    },
    flush,
  }
}
