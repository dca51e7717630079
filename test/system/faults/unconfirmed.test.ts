/** A log that cannot be synced: refused writes do not reappear after an orderly stop or a kill. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withFile } from '../../engine/store/blog.ts'
import type { Answer } from '../../server/serve/service.ts'
import { type Process, startProcess } from '../processes/portico.ts'
import { type AcknowledgedTitles, assertIntact } from './acknowledged.ts'
import { strace } from './trace.ts'

const key = 'k'.repeat(32)
const writerCount = 6
const stepsPerWriter = 25

/** The results that clients got. */
interface Results {
  /** The possible titles of each post; null: it may be deleted. */
  readonly posts: AcknowledgedTitles
  /** Titles of creates that may have been stored. */
  readonly unconfirmed: Set<string>
  /** The number of refused writes, and of those that may have been stored. */
  refused: number
  maybeStored: number
}

/** Undefined: success. Otherwise whether the change may have been stored regardless. */
function refusalOf(answer: Answer): 'not stored' | 'unconfirmed' | undefined {
  if (answer.status < 300) return undefined
  assert.equal(`${answer.status} ${answer.code}`, '503 UNAVAILABLE', answer.text)
  if (!answer.text.includes('may have been stored')) return 'not stored'
  // A client that retries automatically would write twice.
  assert.equal(answer.headers.get('retry-after'), null)
  return 'unconfirmed'
}

/** Changes an existing post, or creates one. */
async function step(service: Process, results: Results, own: number[], title: string): Promise<void> {
  const id = own.length > 3 ? own[randomInt(own.length)] : undefined
  const isRemoval = id !== undefined && randomInt(4) === 0
  const method = id === undefined ? 'POST' : isRemoval ? 'DELETE' : 'PATCH'
  const path = id === undefined ? '/api/v1/posts' : `/api/v1/posts/${id}`
  const body = isRemoval ? undefined : { title, body: 'x'.repeat(randomInt(6000)) }
  const answer = await service.call(path, { method, key, body })
  const refusal = refusalOf(answer)
  if (refusal !== undefined) results.refused++
  if (refusal === 'unconfirmed') results.maybeStored++
  const after = isRemoval ? null : title
  if (refusal === undefined) {
    const stored = id ?? Number(answer.json.id)
    results.posts.set(stored, [after])
    if (id === undefined) own.push(stored)
    if (isRemoval) own.splice(own.indexOf(stored), 1)
  } else if (refusal === 'unconfirmed') {
    if (id === undefined) results.unconfirmed.add(title)
    else results.posts.set(id, [...(results.posts.get(id) ?? []), after])
    // Its state is checked at the end.
    if (id !== undefined) own.splice(own.indexOf(id), 1)
  }
}

async function load(service: Process, results: Results, name = ''): Promise<void> {
  const lane = async (index: number) => {
    const own: number[] = []
    for (let count = 0; count < stepsPerWriter; count++) {
      await step(service, results, own, `${name}lane${index} step${count}`)
    }
  }
  await Promise.all(Array.from({ length: writerCount }, (_, index) => lane(index)))
}

/** Asserts that no post exists that no response allows. */
function checkTitles(file: string, { posts, unconfirmed }: Results): void {
  const database = new DatabaseSync(file)
  try {
    const rows = database.prepare('SELECT id, title FROM posts').all()
    const strangers = rows.filter(
      ({ id, title }) => !posts.has(Number(id)) && !unconfirmed.has(String(title)),
    )
    assert.deepEqual(strangers, [])
  } finally {
    database.close()
  }
}

/**
 * While nothing can be stored, writes are refused and reads work. strace counts the syncs of each thread separately: with
 * two workers, those of the one with fewer writes may still succeed after the load.
 */
async function requireClosed(service: Process, results: Results): Promise<void> {
  let ready = await service.call('/readyz')
  for (let count = 0; ready.status !== 503 && count < 200; count++) {
    await step(service, results, [], `after the load ${count}`)
    ready = await service.call('/readyz')
  }
  assert.equal(ready.status, 503)
  assert.match(ready.text, /Changes cannot be stored: the disk fails\./)
  assert.equal((await service.call('/api/v1/posts')).status, 200)
}

interface Round {
  readonly environment?: Readonly<Record<string, string>>
  /** The syncs that fail, as strace counts them. */
  readonly when: string
  readonly end: NodeJS.Signals
  /** Whether another process, whose syncs work, writes to the same file. */
  readonly withOther?: boolean
}

async function round(file: string, { when, end, environment: more, withOther }: Round): Promise<Results> {
  const environment = {
    DATABASE_URL: file,
    PORTICO_ADMIN_API_KEY: key,
    PORTICO_RATE_LIMIT: 'off',
    ...more,
  }
  const before = await startProcess({ environment })
  await before.end()
  const output = `${file}.trace`
  const inject = `inject=fsync,fdatasync:error=EIO:when=${when}`
  const traced = ['-e', 'trace=fsync,fdatasync', '-e', inject]
  const service = await startProcess({ environment, wrapper: strace(output, traced) })
  const otherProcess = withOther ? await startProcess({ environment }) : undefined
  const results: Results = { posts: new Map(), unconfirmed: new Set(), refused: 0, maybeStored: 0 }
  try {
    await Promise.all([load(service, results), otherProcess && load(otherProcess, results, 'other ')])
    if (when.endsWith('+')) await requireClosed(service, results)
  } finally {
    await service.end(end)
    await otherProcess?.end(end)
  }
  assert.match(readFileSync(output, 'latin1'), /\(INJECTED\)/)
  const again = await startProcess({ environment })
  await again.end()
  assertIntact(file, results.posts, { searchable: false })
  checkTitles(file, results)
  return results
}

for (const [end, workers] of [
  ['SIGTERM', '1'],
  ['SIGKILL', '1'],
  ['SIGKILL', '2'],
] as const) {
  test(`after permanent sync failures and ${end} (${workers} workers), no refused write exists`, () =>
    withFile(async file => {
      const environment = { WORKERS: workers }
      const results = await round(file, { when: `${randomInt(2, 40)}+`, end, environment })
      assert.ok(results.refused > results.maybeStored, 'later writes are refused')
      assert.ok(results.maybeStored > 0)
    }))
}

for (const [end, workers] of [
  ['SIGTERM', '1'],
  ['SIGKILL', '1'],
  ['SIGTERM', '2'],
] as const) {
  test(`after occasional sync failures and ${end} (${workers} workers), no refused write exists`, () =>
    withFile(async file => {
      const when = `${randomInt(2, 10)}+${randomInt(2, 6)}`
      const results = await round(file, { when, end, environment: { WORKERS: workers } })
      assert.ok(results.refused > 0)
    }))
}

for (const end of ['SIGTERM', 'SIGKILL'] as const) {
  test(`after permanent sync failures in one of two processes and ${end}, exactly the acknowledged writes exist`, () =>
    withFile(async file => {
      const results = await round(file, { when: `${randomInt(2, 10)}+`, end, withOther: true })
      assert.ok(results.refused > 0)
    }))
}
