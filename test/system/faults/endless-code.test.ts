/** Code of the model that never returns ends the service; started again, it serves, also what follows a run that loops. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Process, startProcess } from '../processes/portico.ts'
import { library } from '../processes/program.ts'

const model = `
import { action, anyone, collection, job, model, on, string } from ${JSON.stringify(library)}
export default model(
  {
    notes: collection({
      fields: { title: string() },
      access: { read: anyone, create: anyone },
      check: ({ next }) => {
        if (next.title === 'check') for (;;);
        return []
      },
    }),
    marks: collection({ fields: { title: string() }, access: { read: anyone } }),
  },
  {
    actions: {
      loop: action({
        access: anyone,
        run: async ({ data }) => {
          await data.notes.count()
          for (;;) await null
        },
      }),
    },
    reactions: {
      mark: on('note.created', async ({ event, data, later, now }) => {
        const { title } = event.data
        if (title === 'reaction') for (;;);
        if (title === 'job') later(now, 'spin')
        await data.marks.create({ title })
      }),
    },
    jobs: {
      spin: job({
        run: async () => {
          for (;;) await Promise.reject(1).catch(() => {})
        },
      }),
    },
  },
)
`

const adminKey = `pk_${'a'.repeat(32)}`
/** For a busy machine, not an expectation. */
const deadlineMs = 120_000

async function withModel(
  use: (start: (workers?: number) => Promise<Process>) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-endless-'))
  writeFileSync(join(folder, 'model.ts'), model)
  const started: Process[] = []
  try {
    await use(async (workers = 1) => {
      const process = await startProcess({
        folder,
        environment: {
          PORTICO_MODEL: join(folder, 'model.ts'),
          DATABASE_URL: join(folder, 'notes.db'),
          PORTICO_ADMIN_EMAIL: 'admin@example.com',
          PORTICO_ADMIN_API_KEY: adminKey,
          PORTICO_LOGIC_LIMITS: 'action=900 ms, code=1 s',
          WORKERS: String(workers),
        },
      })
      started.push(process)
      return process
    })
  } finally {
    for (const process of started) await process.end('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}

const create = (process: Process, title: string) =>
  process.call('/api/v1/notes', { method: 'POST', body: { title } })

async function titlesOf(process: Process, collection: string): Promise<readonly string[]> {
  const { status, json } = await process.call(`/api/v1/${collection}`)
  assert.equal(status, 200)
  return (json.data as readonly { readonly title: string }[]).map(({ title }) => title).toSorted()
}

/** Waits for the end of the service by its watchdog. */
async function requireEnd(process: Process, place: string): Promise<void> {
  assert.equal(await process.ended, 70, process.output())
  const lines = process.output().split('\n')
  const fatal = lines.filter(line => line.startsWith('{"level":60')).map(line => JSON.parse(line))
  assert.deepEqual(
    fatal.map(line => [line.place, line.msg]),
    [[place, 'code of the model does not return: the process ends with code 70']],
  )
}

for (const workers of [1, 2]) {
  test(`an endless check or action ends a service of ${workers} threads, and it serves again`, () =>
    withModel(async start => {
      let process = await start(workers)
      assert.equal((await create(process, 'before')).status, 201)
      const requests: readonly [string, () => Promise<unknown>][] = [
        ['notes.check', () => create(process, 'check')],
        ['actions.loop', () => process.call('/api/v1/actions/loop', { method: 'POST' })],
      ]
      for (const [place, request] of requests) {
        await assert.rejects(request)
        await requireEnd(process, place)
        process = await start(workers)
        assert.deepEqual(await titlesOf(process, 'notes'), ['before'])
      }
      assert.equal((await create(process, 'after')).status, 201)
    }))
}

for (const [title, run] of [
  ['reaction', 'reactions.mark'],
  ['job', 'jobs.spin'],
] as const) {
  test(`an endless ${title} ends the service three times, and is then a dead letter`, () =>
    withModel(async start => {
      let process = await start()
      assert.equal((await create(process, title)).status, 201)
      for (let ends = 1; ends <= 3; ends++) {
        await requireEnd(process, run)
        process = await start()
        assert.ok((await titlesOf(process, 'notes')).includes(title))
        assert.equal((await create(process, `after ${ends}`)).status, 201)
      }
      const deadline = performance.now() + deadlineMs
      const all = ['after 1', 'after 2', 'after 3', ...(title === 'job' ? ['job'] : [])]
      let dead: readonly { readonly name: string; readonly attempts: number; readonly error: string }[] = []
      for (;;) {
        assert.ok(performance.now() < deadline, process.output())
        const { json } = await process.call('/api/v1/events/runs?state=dead', { key: adminKey })
        dead = json.data as typeof dead
        if (dead.length > 0 && (await titlesOf(process, 'marks')).length >= all.length) break
        await sleep(100)
      }
      assert.deepEqual(
        dead.map(({ name, attempts }) => [name, attempts]),
        [[run.split('.')[1], 3]],
      )
      assert.match(dead[0]?.error ?? '', /^The process ended during the run\./)
      assert.deepEqual(await titlesOf(process, 'marks'), all)
      assert.equal(await process.end(), 0)
    }))
}
