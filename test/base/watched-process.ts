/** A process whose code of the model takes too long, as its first argument says. */

import { execFileSync } from 'node:child_process'
import { pbkdf2Sync } from 'node:crypto'
import { argv } from 'node:process'
import { parentPort, Worker } from 'node:worker_threads'
import { owners, Slot, slotCount } from '../../src/base/watchdog/slots.ts'
import { createWatchdog, startWatchdog } from '../../src/base/watchdog/watchdog.ts'

const limitMs = Number(argv[3] ?? 300)
const { run, turn } = createWatchdog({ limitMs })
const loop = () => {
  for (;;);
}

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** Runs one of the kinds in a worker thread. */
function inWorker(kind: string): Worker {
  const worker = new Worker(new URL(import.meta.url), { argv: [kind, String(limitMs)] })
  return worker.on('error', () => undefined)
}

const kinds: Readonly<Record<string, () => unknown>> = {
  loop: () => run('tasks.check', loop),
  caught: () =>
    run('tasks.check', () => {
      for (;;) {
        try {
          loop()
        } catch {}
      }
    }),
  shadowed: () =>
    run('tasks.check', () => {
      const process = 1
      for (; process; );
    }),
  pattern: () => run('tasks.check', () => /^(a+)+$/.test(`${'a'.repeat(50)}b`)),
  callback: () => run('tasks.check', () => JSON.parse('[1]', loop)),
  getter: () =>
    run('tasks.check', () => JSON.stringify(Object.defineProperty({}, 'a', { get: loop, enumerable: true }))),
  microtasks: () =>
    turn('tasks.check', async () => {
      for (;;) await null
    }),
  late: () =>
    turn('tasks.check', async () => {
      await null
      loop()
    }),
  rejections: () =>
    turn('tasks.check', async () => {
      for (;;) {
        Promise.reject(new Error('unhandled'))
        await null
      }
    }),
  'caught rejections': () =>
    turn('tasks.check', async () => {
      for (;;) {
        await Promise.reject(1).catch(() => {})
        try {
          await Promise.reject(1)
        } catch {}
      }
    }),
  'after others': () => {
    for (let count = 0; count < 100; count++) run('notes.check', () => 1)
    setTimeout(() => run('tasks.check', loop), 700)
  },
  nested: () => turn('actions.move', () => run('tasks.check', loop)),
  outer: () =>
    turn('tasks.check', () => {
      run('notes.check', () => 1)
      loop()
    }),
  native: () => run('tasks.check', () => pbkdf2Sync('x', 'y', 2 ** 31 - 1, 64, 'sha512')),
  worker: () => {
    startWatchdog()
    inWorker('loop')
    setInterval(() => undefined, 1000)
  },
  'worker of its own': () => {
    inWorker('loop')
    setInterval(() => undefined, 1000)
  },
  exit: () => run('notes.check', () => process.exit()),
  'a slot of a worker that has exited': () => {
    startWatchdog()
    inWorker('exit').once('exit', () => inWorker('loop'))
    setInterval(() => undefined, 1000)
  },
  'loop once told': () =>
    run('tasks.check', () => {
      parentPort?.postMessage('runs')
      loop()
    }),
  /** The main thread goes on for longer than the limit. */
  terminated: () => {
    startWatchdog()
    const worker = inWorker('loop once told')
    worker.once('message', () => void worker.terminate())
    const slots = Array.from({ length: slotCount }, (_, index) => new Slot(startWatchdog(), index))
    const requireFree = () => {
      for (const slot of slots) if (slot.owner !== owners.nobody) throw new Error('not released')
    }
    worker.once('exit', () => setTimeout(requireFree, limitMs + 1000))
  },
  'busy once told': () =>
    run('tasks.check', () => {
      parentPort?.postMessage('runs')
      busy(900)
    }),
  /** The main thread does not answer before the code of the worker has returned. */
  'returned meanwhile': () => {
    inWorker('busy once told').once('message', () => {
      execFileSync('sleep', ['1.2'])
      setTimeout(() => undefined, 2000)
    })
  },
  'no slot': () => {
    const memory = startWatchdog()
    for (let index = 0; index < slotCount; index++) new Slot(memory, index).claim(owners.worker)
    run('tasks.check', () => 1)
    run('tasks.check', () => 1)
  },
  quick: () => {
    for (let count = 0; count < 20; count++) run('tasks.check', () => busy(50))
  },
  nothing: () => run('tasks.check', () => 1),
  waiting: () => run('tasks.check', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)),
  lasting: () => run('tasks.check', () => busy(2500)),
}

setImmediate(() => kinds[argv[2] ?? '']?.())
process.on('exit', code => console.log(`exit ${code}`))
