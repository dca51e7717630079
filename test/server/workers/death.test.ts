/** A worker that crashes under load. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { backends } from './backends.ts'
import { modelFile, type WorkerConnection, withWorkers } from './service.ts'
import { subscription } from './subscription.ts'

/** A model file that crashes one worker, the first to notice, when a file named `crash` exists. */
function crashingModel(folder: string): string {
  const crash = JSON.stringify(join(folder, 'crash'))
  const file = join(folder, 'model.ts')
  writeFileSync(
    file,
    `import { unlinkSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
export { default } from ${JSON.stringify(pathToFileURL(modelFile).href)}
const crashOnce = () => {
  try {
    unlinkSync(${crash})
  } catch {
    return
  }
  throw new Error('crashed by the test')
}
if (!isMainThread) setInterval(crashOnce, 5).unref()
`,
  )
  return file
}

/** The worker metrics read last. */
let lastMetrics = ''

async function until(description: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 6000, `never: ${description}; last metrics: ${lastMetrics}`)
    await sleep(20)
  }
}

/** Whether the metrics of a live worker match. */
async function hasMetric(connections: readonly WorkerConnection[], line: RegExp): Promise<boolean> {
  const texts = await Promise.allSettled(connections.map(connection => connection.text('/metrics')))
  lastMetrics = texts
    .map(text => (text.status === 'fulfilled' ? text.value : String(text.reason)))
    .map(text => text.match(/^portico_worker.*|^.*Error.*/gm)?.join(', ') ?? text.slice(0, 200))
    .join('; ')
  return texts.some(text => text.status === 'fulfilled' && line.test(text.value))
}

for (const backend of backends) {
  test(`a crashed worker is restarted, the others continue, and no acknowledged write is lost (${backend.name})`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-crash-'))
    const crash = join(folder, 'crash')
    try {
      await withWorkers(
        2,
        async pool => {
          const { connections, url, another } = pool
          const subscriptions = await Promise.all(
            connections.map(connection => subscription(pool, connection)),
          )
          const acknowledged: string[] = []
          let isDone = false
          const write = async (connection: WorkerConnection, name: string) => {
            for (let turn = 0; !isDone; turn++) {
              const title = `${name} ${turn}`
              const answer = await connection.request('/api/v1/posts', {
                method: 'POST',
                body: { title, author_id: 1 },
              })
              if (answer.status === 201) acknowledged.push(title)
            }
          }
          const writers = await Promise.all(
            connections.flatMap(connection => [another(connection), another(connection)]),
          )
          const running = writers.map((connection, nth) =>
            write(connection, `${nth}`).then(
              () => 'done',
              () => 'disconnected',
            ),
          )
          await until('writes', () => acknowledged.length > 50)
          writeFileSync(crash, '')
          await until('a new worker', () => hasMetric(connections, /^portico_worker_restarts_total [1-9]/m))
          await until('both serve', () => hasMetric(connections, /^portico_workers 2$/m))
          const before = acknowledged.length
          await until('more writes', () => acknowledged.length > before + 50)
          isDone = true
          const ends = await Promise.all(running)
          assert.deepEqual(ends.toSorted(), ['disconnected', 'disconnected', 'done', 'done'])
          assert.equal(existsSync(crash), false)
          const living = connections.findIndex((_, nth) => ends[nth * 2] === 'done')
          const connection = connections[living]
          assert.ok(connection)
          const stored = new Set<string>()
          for (let cursor = ''; ; ) {
            const { json } = await connection.request(
              `/api/v1/posts?per_page=100&fields=title&cursor=${cursor}`,
            )
            const page = json as { data: { title: string }[]; meta: { next_cursor: string | null } }
            for (const { title } of page.data) stored.add(title)
            if (page.meta.next_cursor === null) break
            cursor = encodeURIComponent(page.meta.next_cursor)
          }
          assert.deepEqual(
            acknowledged.filter(title => !stored.has(title)),
            [],
          )
          const titles = subscriptions[living]?.titles ?? []
          await until('all events', () => titles.length >= stored.size)
          // The subscriber at the other worker has missed nothing and got no duplicates.
          assert.deepEqual(titles.toSorted(), [...stored].toSorted())
          for (const { close } of subscriptions) close()
          // The new worker accepts connections too.
          await until('two workers answer', async () => {
            const ids = await Promise.all(Array.from({ length: 16 }, () => fetch(`${url}/healthz`)))
            return new Set(ids.map(({ headers }) => headers.get('x-request-id')?.split('.')[0])).size === 2
          })
        },
        { model: crashingModel(folder) },
        backend,
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

test('a worker is not restarted while the model file differs from the running model', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-crash-'))
  try {
    const model = crashingModel(folder)
    await withWorkers(
      2,
      async ({ connections }) => {
        writeFileSync(model, `${readFileSync(model, 'utf8')}\n// edited\n`)
        writeFileSync(join(folder, 'crash'), '')
        await until('one worker is left', () => hasMetric(connections, /^portico_workers 1$/m))
        await until('a restart was attempted', () =>
          hasMetric(connections, /^portico_worker_restarts_total 2$/m),
        )
        assert.equal(await hasMetric(connections, /^portico_workers 1$/m), true)
        writeFileSync(model, readFileSync(model, 'utf8').replace('\n// edited\n', ''))
        await until('both serve', () => hasMetric(connections, /^portico_workers 2$/m))
      },
      { model },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
