/**
 * Slow reads run in processes outside the event loop. SIGSTOP stops those processes where a test needs a read to last:
 * requests that are answered meanwhile did not wait for it.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { anyone, collection, integer, model, role, text } from '../../../src/index.ts'
import { withFile } from '../../engine/store/blog.ts'
import { startProcess } from '../../system/processes/portico.ts'
import { type Answer, type TestService, withService } from './service.ts'

const rowCount = 100_000
const numbers = model({
  numbers: collection({
    fields: { n: integer(), name: text() },
    access: { read: anyone, create: role('admin'), update: role('admin'), delete: role('admin') },
  }),
})

/** Writes to the file directly, past the service. */
function fill(file: string): void {
  const database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec(`INSERT INTO "numbers" ("n", "name", "created_at")
    WITH RECURSIVE "c"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "c" WHERE "i" < ${rowCount})
    SELECT "i" * 7919 % ${rowCount}, 'number ' || "i", '2026-01-01T00:00:00.000Z' FROM "c"`)
  database.close()
}

function fillPosts(file: string): void {
  const database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec(`INSERT INTO "posts" ("title", "author_id", "created_at")
    WITH RECURSIVE "c"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "c" WHERE "i" < 10000)
    SELECT 'title ' || "i", 1, '2026-01-01T00:00:00.000Z' FROM "c"`)
  database.close()
}

/** The reader processes of a process, whichever of its threads started them. */
function readersOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap(thread => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' '))
    .map(Number)
    .filter(child => child > 0 && isReader(child))
}

function isReader(pid: number): boolean {
  try {
    return /reader-processes\/program\.ts|dist\/reader\.js/.test(
      readFileSync(`/proc/${pid}/cmdline`, 'latin1'),
    )
  } catch {
    return false
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(5)
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, name)
}

/** Sorts the whole table; each has its own parameters. */
const scan = (n: number) => `/api/v1/numbers?sort=name,-n&per_page=5&name[ne]=${n}`

async function metric({ call }: Pick<TestService, 'call'>, name: string): Promise<number> {
  const { text } = await call('/metrics')
  return Number(new RegExp(`^portico_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Collects the responses of the promises as they resolve. */
function collectInto(promises: readonly Promise<Answer>[]): Answer[] {
  const answers: Answer[] = []
  for (const promise of promises) void promise.then(answer => answers.push(answer))
  return answers
}

let service: TestService
let end: () => void = () => {}
let serving: Promise<void>

before(async () => {
  const started = Promise.withResolvers<void>()
  serving = withService(
    { rateLimit: 'off', cacheSize: '0 B', databaseTimeout: '60 s' },
    async opened => {
      service = opened
      fill(opened.file)
      started.resolve()
      await new Promise<void>(resolve => {
        end = resolve
      })
    },
    numbers,
  )
  await Promise.race([started.promise, serving])
})

after(async () => {
  end()
  await serving
  assert.deepEqual(readersOf(process.pid), [], 'none is left')
})

/** Sends all requests that must be answered while scans run. */
async function sendOtherRequests({ call, key }: TestService): Promise<void> {
  assert.equal((await call('/healthz')).status, 200)
  const { json } = await call('/api/v1/numbers/77')
  assert.equal(json.name, 'number 77')
  assert.equal((await call('/api/v1/numbers')).status, 200)
  const created = await call('/api/v1/numbers', { method: 'POST', key, body: { n: 1, name: 'new' } })
  assert.equal(created.status, 201)
  const { id } = created.json
  assert.equal((await call(`/api/v1/numbers/${id}`)).json.name, 'new')
  assert.equal((await call(`/api/v1/numbers/${id}`, { method: 'DELETE', key })).status, 204)
}

test('eight running scans delay no other request, and return the rows of the table', async () => {
  const { call } = service
  const [first] = await Promise.all([call(scan(0)), call(scan(1))])
  assert.equal(first.status, 200)
  const pids = readersOf(process.pid)
  signal(pids, 'SIGSTOP')
  const scans = Array.from({ length: 8 }, (_, n) => call(scan(n)))
  const results = collectInto(scans)
  await until(
    async () =>
      (await metric(service, 'slow_reads_running')) + (await metric(service, 'slow_reads_waiting')) === 8,
  )
  await sendOtherRequests(service)
  assert.deepEqual(results, [], 'no scan has finished')
  signal(pids, 'SIGCONT')
  for (const { status, text } of await Promise.all(scans)) {
    assert.equal(status, 200)
    assert.equal(text, first.text)
  }
})

test('a scan sees every change that was acknowledged before its request', async () => {
  const { call, key } = service
  for (let n = 0; n < 5; n++) {
    const body = { n, name: ` the first ${n}` }
    assert.equal((await call('/api/v1/numbers/5', { method: 'PATCH', key, body })).status, 200)
    const { json } = await call('/api/v1/numbers?sort=name&per_page=1')
    assert.deepEqual(
      (json.data as { name: string }[]).map(({ name }) => name),
      [body.name],
    )
    const query = '{ numbers(limit: 1, orderBy: NAME_ASC) { name } }'
    const graphql = await call('/graphql', { method: 'POST', key, body: { query } })
    assert.deepEqual(graphql.json.data, { numbers: [{ name: body.name }] })
  }
})

test('a caller with many scans occupies one of two processes; another caller’s scan finishes before them', async () => {
  const { call, key } = service
  await Promise.all([call(scan(0)), call(scan(0), { key })])
  const flood = Array.from({ length: 40 }, (_, n) => call(scan(n)))
  const results = collectInto(flood)
  await until(() => results.length > 0)
  const { status } = await call(scan(0), { key })
  assert.equal(status, 200)
  assert.ok(results.length < flood.length, 'the first caller’s scans are not finished')
  const statuses = (await Promise.all(flood)).map(answer => answer.status)
  assert.deepEqual([...new Set(statuses)], [200])
})

test('a scan past its deadline is a 503 and nothing else fails; its process is killed and replaced', async () => {
  await withService(
    { rateLimit: 'off', cacheSize: '0 B', databaseTimeout: '6 s' },
    async own => {
      fill(own.file)
      const before = new Set(readersOf(process.pid))
      assert.equal((await own.call(scan(0))).status, 200)
      const pids = readersOf(process.pid).filter(pid => !before.has(pid))
      signal(pids, 'SIGSTOP')
      const late = own.call(scan(1))
      const results = collectInto([late])
      while (results.length === 0) await sendOtherRequests(own)
      const { status, code, headers, json } = await late
      assert.equal(status, 503)
      assert.equal(code, 'UNAVAILABLE')
      assert.ok(Number(headers.get('retry-after')) > 0)
      assert.match(JSON.stringify(json), /The service cannot answer now\./)
      const [killed = 0] = pids
      await until(() => !isReader(killed))
      assert.equal((await own.call(scan(2))).status, 200)
      assert.equal(await metric(own, 'slow_reads_timed_out_total'), 1)
      assert.equal(await metric(own, 'reader_processes_killed_total'), 1)
    },
    numbers,
  )
})

test('each worker has its own reader processes; they finish their reads and exit with the service', async () => {
  await withFile(async file => {
    const environment = {
      DATABASE_URL: file,
      WORKERS: '2',
      PORTICO_CACHE_SIZE: '0 B',
      PORTICO_RATE_LIMIT: 'off',
    }
    const sorted = '/api/v1/posts?sort=title&per_page=3'
    const node = await startProcess({ environment })
    fillPosts(file)
    while (readersOf(node.pid).length < 2) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => node.call(sorted)))
      for (const { status } of answers) assert.equal(status, 200)
    }
    const readers = readersOf(node.pid)
    assert.equal(readers.length, 2, 'one for each of the two configured')
    signal(readers, 'SIGTERM')
    signal(readers, 'SIGINT')
    assert.equal((await node.call(sorted)).status, 200)
    assert.deepEqual(readersOf(node.pid), readers)
    await node.end('SIGKILL')
    await until(() => !readers.some(isReader))
  })
})
