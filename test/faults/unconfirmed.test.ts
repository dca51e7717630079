/** A log that cannot be synced: what was refused does not come back, after an orderly stop or a kill. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Process, startProcess } from '../processes/portico.ts'
import type { Answer } from '../serve/service.ts'
import { withFile } from '../store/blog.ts'
import { type Acknowledged, check } from './stored.ts'
import { strace } from './trace.ts'

const key = 'k'.repeat(32)
const LANES = 6
const STEPS = 25

/** What clients were told. */
interface Told {
  /** The titles that each post may have; null: it may be gone. */
  readonly posts: Acknowledged
  /** Titles of creates that may have been stored. */
  readonly unconfirmed: Set<string>
  /** How many writes were refused, and how many of those may have been stored. */
  refused: number
  doubted: number
}

/** Undefined: done. Otherwise whether the change may have been stored all the same. */
function refusalOf(answer: Answer): 'not stored' | 'unconfirmed' | undefined {
  if (answer.status < 300) return undefined
  assert.equal(`${answer.status} ${answer.code}`, '503 UNAVAILABLE', answer.text)
  if (!answer.text.includes('may have been stored')) return 'not stored'
  // A client that repeats it by itself would do it twice.
  assert.equal(answer.headers.get('retry-after'), null)
  return 'unconfirmed'
}

/** One change of a post that is there, or a new post. */
async function step(service: Process, told: Told, own: number[], title: string): Promise<void> {
  const id = own.length > 3 ? own[randomInt(own.length)] : undefined
  const isRemoval = id !== undefined && randomInt(4) === 0
  const method = id === undefined ? 'POST' : isRemoval ? 'DELETE' : 'PATCH'
  const path = id === undefined ? '/api/v1/posts' : `/api/v1/posts/${id}`
  const body = isRemoval ? undefined : { title, body: 'x'.repeat(randomInt(6000)) }
  const answer = await service.call(path, { method, key, body })
  const refusal = refusalOf(answer)
  if (refusal !== undefined) told.refused++
  if (refusal === 'unconfirmed') told.doubted++
  const after = isRemoval ? null : title
  if (refusal === undefined) {
    const stored = id ?? Number(answer.json.id)
    told.posts.set(stored, [after])
    if (id === undefined) own.push(stored)
    if (isRemoval) own.splice(own.indexOf(stored), 1)
  } else if (refusal === 'unconfirmed') {
    if (id === undefined) told.unconfirmed.add(title)
    else told.posts.set(id, [...(told.posts.get(id) ?? []), after])
    // What it holds now is for the check at the end.
    if (id !== undefined) own.splice(own.indexOf(id), 1)
  }
}

async function load(service: Process, told: Told, name = ''): Promise<void> {
  const lane = async (at: number) => {
    const own: number[] = []
    for (let count = 0; count < STEPS; count++) {
      await step(service, told, own, `${name}lane${at} step${count}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)))
}

/** That no post is there of which nobody was told that it may be. */
function checkTitles(file: string, { posts, unconfirmed }: Told): void {
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
 * While nothing can be stored it says so, and reads are answered. strace counts the syncs of each thread by itself: with
 * two workers, those of the one that had fewer writes may still succeed after the load.
 */
async function requireClosed(service: Process, told: Told): Promise<void> {
  let ready = await service.call('/readyz')
  for (let count = 0; ready.status !== 503 && count < 200; count++) {
    await step(service, told, [], `after the load ${count}`)
    ready = await service.call('/readyz')
  }
  assert.equal(ready.status, 503)
  assert.match(ready.text, /Changes cannot be stored: the disk fails\./)
  assert.equal((await service.call('/api/v1/posts')).status, 200)
}

interface Round {
  readonly environment?: Readonly<Record<string, string>>
  /** Which syncs fail, as strace counts them. */
  readonly when: string
  readonly end: NodeJS.Signals
  /** Whether another process, whose syncs work, writes to the same file. */
  readonly beside?: boolean
}

async function round(file: string, { when, end, environment: more, beside }: Round): Promise<Told> {
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
  const service = await startProcess({ environment, under: strace(output, traced) })
  const other = beside ? await startProcess({ environment }) : undefined
  const told: Told = { posts: new Map(), unconfirmed: new Set(), refused: 0, doubted: 0 }
  try {
    await Promise.all([load(service, told), other && load(other, told, 'other ')])
    if (when.endsWith('+')) await requireClosed(service, told)
  } finally {
    await service.end(end)
    await other?.end(end)
  }
  assert.match(readFileSync(output, 'latin1'), /\(INJECTED\)/)
  const again = await startProcess({ environment })
  await again.end()
  check(file, told.posts, { searchable: false })
  checkTitles(file, told)
  return told
}

for (const [end, workers] of [
  ['SIGTERM', '1'],
  ['SIGKILL', '1'],
  ['SIGKILL', '2'],
] as const) {
  test(`syncs fail for good, then ${end} (${workers} workers): nothing that was refused is there`, () =>
    withFile(async file => {
      const environment = { WORKERS: workers }
      const told = await round(file, { when: `${randomInt(2, 40)}+`, end, environment })
      assert.ok(told.refused > told.doubted, 'those behind it are refused')
      assert.ok(told.doubted > 0)
    }))
}

for (const [end, workers] of [
  ['SIGTERM', '1'],
  ['SIGKILL', '1'],
  ['SIGTERM', '2'],
] as const) {
  test(`syncs fail now and then, then ${end} (${workers} workers): nothing that was refused is there`, () =>
    withFile(async file => {
      const when = `${randomInt(2, 10)}+${randomInt(2, 6)}`
      const told = await round(file, { when, end, environment: { WORKERS: workers } })
      assert.ok(told.refused > 0)
    }))
}

for (const end of ['SIGTERM', 'SIGKILL'] as const) {
  test(`syncs of one of two processes fail for good, then ${end}: what was refused is not there, what was not is`, () =>
    withFile(async file => {
      const told = await round(file, { when: `${randomInt(2, 10)}+`, end, beside: true })
      assert.ok(told.refused > 0)
    }))
}
