/**
 * A node that is killed at any point. Its reactions and jobs write lines to a file, and its clock runs faster, to shorten
 * leases and due times. Arguments: the database, the file, the start time of the clock, the chance of killing itself.
 */
import { appendFileSync } from 'node:fs'
import { Runner } from '../../../src/delivery/runs/runner.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { every, integer, job, on } from '../../../src/index.ts'
import { logic, nodeParts } from './fixture.ts'

export const timesFaster = 8

export const killedModel = (write: (line: string) => void, chance: number) => {
  const perhapsDie = () => {
    if (Math.random() < chance) process.kill(process.pid, 'SIGKILL')
  }
  return logic({
    reactions: {
      copy: on('task.*', async ({ event, data, later, now }) => {
        perhapsDie()
        if (Math.random() < 0.05) throw new Error('sometimes fails')
        await data['tasks']?.get(event.item_id)
        later(now, 'echo', { event: Number(event.id) })
        write(`event ${event.id} ${event.item_id}`)
        perhapsDie()
      }),
    },
    jobs: {
      echo: job({ input: { event: integer() }, run: ({ input }) => write(`echo ${input.event}`) }),
      tick: every('minute', ({ scheduledFor }) => {
        write(`tick ${scheduledFor}`)
        perhapsDie()
      }),
    },
  })
}

if (process.argv[1] === import.meta.filename) {
  const [url = '', file = '', base = '', chance = ''] = process.argv.slice(2)
  const model = killedModel(line => appendFileSync(file, `${line}\n`), Number(chance))
  const store = url.startsWith('postgres')
    ? await openPostgres(model, { url })
    : await openSqlite(model, { file: url })
  const from = Number(base)
  const clock = {
    now: () => from + (Date.now() - from) * timesFaster,
    after: (delayMs: number, run: () => void) => {
      const timer = setTimeout(run, delayMs / timesFaster)
      return () => clearTimeout(timer)
    },
  }
  const elapsed = () => performance.now() * timesFaster
  const runner = new Runner({ ...nodeParts(model, store), clock, elapsed, timeoutMs: 600_000 })
  runner.start()
  process.once('SIGTERM', async () => {
    await runner.stop()
    await store.close()
    process.exit()
  })
}
