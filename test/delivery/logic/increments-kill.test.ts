/** Increments by processes that are killed with SIGKILL: each acknowledged one is stored, once, and has its event. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Client } from '../../engine/store/blog.ts'
import { plainDatabaseKinds } from '../../engine/store/databases.ts'
import { counters } from './killed-counter.ts'

const rounds = 3
const perRound = 60

interface Lines {
  readonly sent: number
  readonly single: number
  readonly both: number
}

/** Two processes count until one has acknowledged so many; then both are killed. */
async function countAndKill(url: string, id: number, started: ChildProcess[]): Promise<Lines> {
  const program = join(import.meta.dirname, 'killed-counter.ts')
  const parameters = ['--conditions=portico-source', program, url, String(id)]
  const processes = [0, 1].map(() =>
    spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  started.push(...processes)
  const texts = processes.map(() => '')
  const { promise: isEnough, resolve, reject } = Promise.withResolvers<void>()
  for (const [index, counting] of processes.entries()) {
    counting.stdout?.setEncoding('utf8').on('data', text => {
      texts[index] += text
      if (linesOf(texts[index] ?? '').single >= perRound) resolve()
    })
    counting.once('exit', code => reject(new Error(`it has ended with ${code}`)))
  }
  await isEnough
  const ended = processes.map(counting => once(counting, 'close'))
  for (const counting of processes) counting.kill('SIGKILL')
  await Promise.all(ended)
  return linesOf(texts.join(''))
}

function linesOf(text: string): Lines {
  const count = (word: string) => text.split('\n').filter(line => line === word).length
  return { sent: count('sent'), single: count('single'), both: count('both') }
}

for (const kind of plainDatabaseKinds) {
  describe(`killed increments on ${kind.name}`, () => {
    it('each acknowledged increment is stored once, with its event', () =>
      kind.within(async database => {
        const started: ChildProcess[] = []
        const store = await database.open(counters)
        try {
          const client = new Client(store, counters)
          const { id } = await client.create('counters', {})
          const totals = { sent: 0, single: 0, both: 0 }
          for (let round = 0; round < rounds; round++) {
            const lines = await countAndKill(database.url, id, started)
            for (const name of ['sent', 'single', 'both'] as const) totals[name] += lines[name]
          }
          const [row] = await database.rows('SELECT "n", "both" FROM "counters"')
          const [n, both] = [Number(row?.['n']), Number(row?.['both'])]
          const unanswered = totals.sent - totals.single - totals.both
          const acknowledged = totals.single + totals.both
          assert.ok(n >= acknowledged && n <= acknowledged + unanswered, `${n}: ${JSON.stringify(totals)}`)
          assert.ok(
            both >= totals.both && both <= totals.both + unanswered,
            `${both}: ${JSON.stringify(totals)}`,
          )
          const numbers: number[] = []
          for (let after = 0; ; ) {
            const changes = await store.changes.after(after, 1000)
            for (const change of changes)
              if (change.kind === 'updated') numbers.push(JSON.parse(change.row).n)
            const last = changes.at(-1)
            if (last === undefined) break
            after = last.event
          }
          // The second event of a transaction has the same number.
          assert.deepEqual(
            [...new Set(numbers)],
            Array.from({ length: n }, (_, index) => index + 1),
          )
        } finally {
          for (const counting of started) counting.kill('SIGKILL')
          await store.close()
        }
      }))
  })
}
