/** When a failed run is tried again, and when it is not. On SQLite only: the statements are those of other tests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestRecord } from '../../../src/delivery/runs/requests.ts'
import { maxDepth } from '../../../src/delivery/runs/results.ts'
import { enqueueJob } from '../../../src/engine/logic/operations/later.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { every, integer, job, on } from '../../../src/index.ts'
import { sqlite as kind } from '../../engine/store/databases.ts'
import { type Fixture, handler, patient, within } from './fixture.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const noon = Math.ceil(Date.now() / (24 * hourMs)) * 24 * hourMs + 12 * hourMs

async function enqueue({ store, model, clock }: Fixture, name: string, input: object): Promise<void> {
  const now = clock.now()
  const { record } = enqueueJob(new Date(now), name, input, { model, now, depth: 0 }) as {
    readonly record: Parameters<Store['records']['put']>[0]
  }
  await store.records.put(record)
}

test('a scheduled run that fails after the next due time is not tried again while the next run is due', async () => {
  const attempts: string[] = []
  const release = Promise.withResolvers<void>()
  const minutely = every('minute', async ({ scheduledFor }) => {
    attempts.push(scheduledFor ?? '')
    if (attempts.length > 1) return
    await release.promise
    throw new Error('too late')
  })
  const use = async ({ runner, until, clock, dead }: Fixture) => {
    runner(patient)
    await until(() => attempts.length === 1, 'the first due time', 1000)
    const [first = ''] = attempts
    // The next due time passes while the first run is in progress, and the one after it is more than a back-off away.
    await until(
      () => clock.now() >= Date.parse(first) + minuteMs + 20_000,
      'the next due time has passed',
      1000,
    )
    release.resolve()
    await until(async () => (await dead()).length === 1, 'the first run is given up')
    assert.match(String(await dead()), /too late \(not tried again: the next run is due\)$/)
    await until(() => attempts.length >= 3, 'two further due times', 1000)
    assert.equal(attempts.filter(time => time === first).length, 1)
  }
  await within(kind, { jobs: { minutely } }, use, noon)()
})

test('a job may start itself for ever if each run is due at least a minute later, and else only in a short chain', async () => {
  const [slow, quick]: [number[], number[]] = [[], []]
  const later = (runs: number[], name: string, delayMs: number) =>
    job({
      input: { n: integer() },
      run({ input: { n }, now, later: enqueueLater }) {
        runs.push(Number(n))
        if (runs.length < 2 * maxDepth)
          enqueueLater(new Date(Date.parse(now) + delayMs), name, { n: Number(n) + 1 })
      },
    })
  const jobs = { slow: later(slow, 'slow', minuteMs), quick: later(quick, 'quick', minuteMs - 1000) }
  const use = async (fixture: Fixture) => {
    const { runner, until, dead } = fixture
    await enqueue(fixture, 'slow', { n: 0 })
    await enqueue(fixture, 'quick', { n: 0 })
    runner(patient)
    await until(() => slow.length === 2 * maxDepth, 'many runs of the slow job', 30_000)
    await until(async () => (await dead()).length > 0, 'the chain of the quick one has ended', 30_000)
    const upTo = (length: number) => Array.from({ length }, (_, n) => n)
    assert.deepEqual([slow, quick], [upTo(2 * maxDepth), upTo(maxDepth)])
    assert.match(String(await dead()), /^quick\/.*at the end of a chain/)
  }
  await within(kind, { jobs }, use, noon)()
})

test('a dead letter that is retried begins with its first attempt, and is retried like any other', async () => {
  let failures = 13
  const attempts: number[] = []
  const failing = on(
    'task.created',
    handler(({ attempt }) => {
      attempts.push(attempt)
      if (failures-- > 0) throw new Error('not yet')
    }),
  )
  const counted = job({
    run({ attempt }) {
      attempts.push(attempt)
      if (failures-- > 0) throw new Error('not yet')
    },
  })
  const use = async (fixture: Fixture) => {
    const { task, runner, until, dead, store } = fixture
    runner(patient)
    for (const start of [() => task('x'), () => enqueue(fixture, 'counted', {})]) {
      failures = 13
      attempts.length = 0
      await start()
      await until(async () => (await dead()).length === 1, 'it is given up', hourMs)
      failures = 2
      attempts.length = 0
      const [line = ''] = await dead()
      await store.records.put(requestRecord('retry', line.slice(0, line.indexOf(':'))))
      await until(() => attempts.length === 3, 'it is tried three times', 5000)
      assert.deepEqual([attempts, await dead()], [[1, 2, 3], []])
    }
  }
  await within(kind, { reactions: { failing }, jobs: { counted } }, use)()
})
