/** A worker that dies in the middle of everything. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { places } from './backends.ts'
import { type Lane, modelFile, withWorkers } from './service.ts'
import { subscription } from './subscription.ts'

/** A model file whose worker dies when there is a file called `strike`: the first one that sees it. */
function mortalModel(folder: string): string {
  const strike = JSON.stringify(join(folder, 'strike'))
  const file = join(folder, 'model.ts')
  writeFileSync(
    file,
    `import { rmSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
export { default } from ${JSON.stringify(pathToFileURL(modelFile).href)}
const look = () => {
  try {
    rmSync(${strike})
  } catch {
    return
  }
  throw new Error('struck by lightning')
}
if (!isMainThread) setInterval(look, 5).unref()
`,
  )
  return file
}

/** What was told last, of workers alone. */
let figures = ''

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    assert.ok(tries < 1000, `it never came to this: ${what}; the workers told ${figures}`)
    await sleep(20)
  }
}

/** Whether the figures of one worker that lives say so. */
async function tells(lanes: readonly Lane[], line: RegExp): Promise<boolean> {
  const texts = await Promise.allSettled(lanes.map(lane => lane.text('/metrics')))
  figures = texts
    .map(text => (text.status === 'fulfilled' ? text.value : String(text.reason)))
    .map(text => text.match(/^portico_worker.*|^.*Error.*/gm)?.join(', ') ?? text.slice(0, 200))
    .join('; ')
  return texts.some(text => text.status === 'fulfilled' && line.test(text.value))
}

for (const place of places) {
  test(`a worker that dies is started anew; nothing acknowledged is lost, and the others go on (${place.name})`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-crash-'))
    const strike = join(folder, 'strike')
    try {
      await withWorkers(
        2,
        async pool => {
          const { lanes, url, beside } = pool
          const subscriptions = await Promise.all(lanes.map(lane => subscription(pool, lane)))
          const acknowledged: string[] = []
          let isDone = false
          const write = async (lane: Lane, name: string) => {
            for (let turn = 0; !isDone; turn++) {
              const title = `${name} ${turn}`
              const answer = await lane.ask('/api/v1/posts', {
                method: 'POST',
                body: { title, author_id: 1 },
              })
              if (answer.status === 201) acknowledged.push(title)
            }
          }
          const writers = await Promise.all(lanes.flatMap(lane => [beside(lane), beside(lane)]))
          const running = writers.map((lane, nth) =>
            write(lane, `${nth}`).then(
              () => 'done',
              () => 'cut off',
            ),
          )
          await until('writes', () => acknowledged.length > 50)
          writeFileSync(strike, '')
          await until('a new worker', () => tells(lanes, /^portico_worker_restarts_total [1-9]/m))
          await until('both serve', () => tells(lanes, /^portico_workers 2$/m))
          const before = acknowledged.length
          await until('more writes', () => acknowledged.length > before + 50)
          isDone = true
          const ends = await Promise.all(running)
          assert.deepEqual(ends.toSorted(), ['cut off', 'cut off', 'done', 'done'])
          assert.equal(existsSync(strike), false)
          const living = lanes.findIndex((_, nth) => ends[nth * 2] === 'done')
          const lane = lanes[living]
          assert.ok(lane)
          const stored = new Set<string>()
          for (let cursor = ''; ; ) {
            const { json } = await lane.ask(`/api/v1/posts?per_page=100&fields=title&cursor=${cursor}`)
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
          // Whoever listens at the other worker has missed nothing, and heard nothing twice.
          assert.deepEqual(titles.toSorted(), [...stored].toSorted())
          for (const { close } of subscriptions) close()
          // The new one takes connections too.
          await until('two workers answer', async () => {
            const ids = await Promise.all(Array.from({ length: 16 }, () => fetch(`${url}/healthz`)))
            return new Set(ids.map(({ headers }) => headers.get('x-request-id')?.split('.')[0])).size === 2
          })
        },
        { model: mortalModel(folder) },
        place,
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

test('a worker does not come back with another model than the others have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-crash-'))
  try {
    const model = mortalModel(folder)
    await withWorkers(
      2,
      async ({ lanes }) => {
        writeFileSync(model, `${readFileSync(model, 'utf8')}\n// edited\n`)
        writeFileSync(join(folder, 'strike'), '')
        await until('one worker is left', () => tells(lanes, /^portico_workers 1$/m))
        await until('it was tried', () => tells(lanes, /^portico_worker_restarts_total 2$/m))
        assert.equal(await tells(lanes, /^portico_workers 1$/m), true)
        writeFileSync(model, readFileSync(model, 'utf8').replace('\n// edited\n', ''))
        await until('both serve', () => tells(lanes, /^portico_workers 2$/m))
      },
      { model },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
