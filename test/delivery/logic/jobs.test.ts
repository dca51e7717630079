/** Jobs on every database: each due time runs once across all nodes, again after a kill, and missed ones once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { positionKey, type RunnerPosition } from '../../../src/delivery/runs/position.ts'
import { requestRecord } from '../../../src/delivery/runs/requests.ts'
import { enqueueJob } from '../../../src/engine/logic/operations/later.ts'
import { every, integer, job, on, string } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { patient, within } from './fixture.ts'

const hourMs = 3_600_000
const noon = Math.ceil(Date.now() / 86_400_000) * 86_400_000 + 12 * hourMs
const iso = (time: number) => new Date(time).toISOString()

for (const databaseKind of databaseKinds) {
  describe(`jobs on ${databaseKind.name}`, () => {
    const due: string[] = []
    it(
      'run once for each due time across all nodes',
      within(
        databaseKind,
        { jobs: { hourly: every('hour', ({ scheduledFor }) => void due.push(scheduledFor ?? '')) } },
        async ({ runner, until, missed }) => {
          const nodes = [runner(patient), runner(patient), runner(patient)]
          for (const count of [1, 2, 3]) {
            await until(() => due.length === count, `due time ${count}`, 300_000)
          }
          await nodes.find(({ state }) => state.isRunning)?.stop()
          await until(() => due.length === 5, 'another node takes over', 300_000)
          // The clock may jump over a due time while a node is busy; it is then missed and reported.
          const times = due.map(time => (Date.parse(time) - noon) / hourMs)
          assert.ok(times.every(Number.isInteger), String(times))
          const skips = times.filter((time, index) => time !== (times[index - 1] ?? 0) + 1)
          // The last one may have been reported just now: the run after it has not begun.
          assert.ok(
            [0, 1].includes(missed.length - skips.length),
            `${missed.length} missed, ${String(times)}`,
          )
          assert.ok(times.every((time, index) => time > (times[index - 1] ?? 0)))
        },
        noon,
      ),
    )

    const ids: number[] = []
    it(
      'get an input that is called `id`',
      within(
        databaseKind,
        {
          reactions: {
            enqueuing: on('task.created', ({ event, later, now }) =>
              later(now, 'remind', { id: event.item_id + 1000 }),
            ),
          },
          jobs: { remind: job({ input: { id: integer() }, run: ({ input }) => void ids.push(input.id) }) },
        },
        async ({ task, runner, until }) => {
          runner()
          const id = await task('x')
          await until(() => ids.length > 0, 'the job has run', 1000)
          assert.deepEqual(ids, [id + 1000])
        },
      ),
    )

    const missed: string[] = []
    it(
      'that missed several due times run once, for the last one',
      within(
        databaseKind,
        {
          jobs: {
            hourly: every('hour', ({ scheduledFor }) => void missed.push(scheduledFor ?? '')),
          },
        },
        async ({ runner, until, clock, missed: reported }) => {
          const first = runner(patient)
          await until(() => missed.length > 0, 'the first', 300_000)
          const stopping = first.stop()
          await until(() => !first.state.isRunning, 'the first node has stopped')
          await stopping
          const [before, reportedBefore, stoppedAt] = [missed.length, reported.length, clock.now()]
          await clock.jump(10 * hourMs + 60_000)
          const last = Math.floor(clock.now() / hourMs) * hourMs
          runner(patient)
          await until(() => missed.includes(iso(last)), 'the second node runs the last due time')
          // A run that was due before the stop may have been stored and not started.
          const stored = missed.slice(before, missed.indexOf(iso(last)))
          assert.ok(stored.length <= 1 && stored.every(time => Date.parse(time) <= stoppedAt), String(missed))
          assert.deepEqual(reported.slice(reportedBefore), ['hourly'])
          await until(() => missed.at(-1) !== iso(last), 'the next one', 300_000)
          assert.ok((missed.at(-1) ?? '') > iso(last))
        },
        noon,
      ),
    )

    let failures = 2
    const attempts: string[] = []
    const keys = new Set<string>()
    it(
      'that fail are retried with the same key, and no other due time is lost',
      within(
        databaseKind,
        {
          jobs: {
            nightly: every('day at 03:00', { timeZone: 'UTC' }, ({ scheduledFor, idempotencyKey }) => {
              attempts.push(scheduledFor ?? '')
              if (failures-- > 0) throw new Error('not yet')
              keys.add(idempotencyKey)
            }),
          },
        },
        async ({ runner, until, failures: reported }) => {
          runner(patient)
          await until(() => attempts.length === 4, 'two nights', 300_000)
          assert.equal(new Set(attempts.slice(0, 3)).size, 1)
          assert.notEqual(attempts[3], attempts[0])
          assert.equal(keys.size, 2)
          assert.equal(reported.length, 2)
        },
        noon,
      ),
    )

    let isBroken = true
    const broken: string[] = []
    it(
      'are no longer retried when the next run is due',
      within(
        databaseKind,
        {
          jobs: {
            often: every('minute', ({ scheduledFor }) => {
              broken.push(scheduledFor ?? '')
              if (isBroken) throw new Error('broken')
            }),
          },
        },
        async ({ runner, until, dead }) => {
          runner(patient)
          await until(async () => (await dead()).length === 2, 'two runs are dead', 1000)
          isBroken = false
          const [first = ''] = await dead()
          assert.match(first, /^often\/.*: Error: broken \(not tried again: the next run is due\)$/)
          // Attempts within the minute: at once, after 5 s, after 20 s more; the next would follow after 80 s.
          assert.equal(broken.filter(time => time === broken[0]).length, 3)
        },
        noon,
      ),
    )

    const reminded: string[] = []
    it(
      'that were enqueued run at their time with their input, even if another process enqueued them',
      within(
        databaseKind,
        {
          jobs: {
            remind: job({
              input: { text: string(), mood: string({ default: 'kind' }) },
              run: ({ input }) => void reminded.push(`${input['text']} ${input['mood']}`),
            }),
          },
        },
        async ({ runner, until, store, model, clock }) => {
          const now = clock.now()
          const enqueue = (dueMs: number, text: string) =>
            enqueueJob(iso(dueMs), 'remind', { text }, { model, now, depth: 0 })
          for (const [dueMs, text] of [
            [now + 2 * hourMs, 'second'],
            [now + hourMs, 'first'],
            [now - hourMs, 'at once'],
          ] as const) {
            const step = enqueue(dueMs, text)
            assert.equal(step.kind, 'put')
            if (step.kind === 'put') await store.records.put(step.record)
          }
          runner(patient)
          await until(() => reminded.length === 1, 'the due one has run')
          assert.deepEqual(reminded, ['at once kind'])
          await until(() => reminded.length === 3, 'the others have run', 300_000)
          assert.deepEqual(reminded, ['at once kind', 'first kind', 'second kind'])
          assert.throws(() => enqueue(Number.NaN, 'x'), RangeError)
          const options = { model, now, depth: 0 }
          assert.throws(() => enqueueJob('soon', 'remind', {}, options), /ISO 8601/)
          assert.throws(() => enqueueJob(iso(now), 'remnd', {}, options), /Did you mean `remind`/)
          assert.throws(() => enqueueJob(iso(now), 'remind', {}, options), /text is required/)
          assert.throws(() => enqueueJob(iso(now), 'remind', { text: 1 }, options), /text must/)
        },
        noon,
      ),
    )

    const quick: string[] = []
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let slowRuns = 0
    it(
      'run although many runs of a slow one are due before them, and although the clock is set back',
      within(
        databaseKind,
        {
          jobs: {
            slow: job({
              run: async () => {
                slowRuns++
                await released
              },
            }),
            quick: job({
              input: { text: string() },
              run: ({ input }) => void quick.push(String(input['text'])),
            }),
          },
        },
        async ({ runner, until, store, model, clock }) => {
          const enqueue = async (name: string, input: unknown) => {
            const now = clock.now()
            const step = enqueueJob(iso(now), name, input, { model, now, depth: 0 })
            if (step.kind === 'put') await store.records.put(step.record)
          }
          for (let count = 0; count < 450; count++) await enqueue('slow', {})
          await clock.advance(1)
          await enqueue('quick', { text: 'first' })
          runner(patient)
          await until(() => quick.length === 1, 'the quick job has run')
          assert.ok(slowRuns > 0)
          clock.setBack(hourMs)
          await enqueue('quick', { text: 'second' })
          await until(() => quick.length === 2, 'it has run again')
          release()
          await until(() => slowRuns === 450, 'all slow ones have run', 10_000)
          assert.deepEqual(quick, ['first', 'second'])
        },
        noon,
      ),
    )

    it(
      'that the model no longer has are removed on request, with their due times',
      within(
        databaseKind,
        { jobs: { hourly: every('hour', () => undefined) } },
        async ({ runner, until, store: { records } }) => {
          const { kind, id } = positionKey
          const position = async (): Promise<RunnerPosition> =>
            JSON.parse((await records.get(kind, id))?.payload ?? '')
          const { jobs, ...rest } = await position()
          const payload = JSON.stringify({ ...rest, jobs: { ...jobs, gone: jobs['hourly'] } })
          await records.put({ kind, id, payload, expiresAt: null })
          await records.put(requestRecord('skip', 'gone'))
          runner(patient)
          await until(async () => !Object.hasOwn((await position()).jobs, 'gone'), 'its due time is removed')
          assert.deepEqual(Object.keys((await position()).jobs), ['hourly'])
        },
        noon,
      ),
    )

    let isKilled = false
    const resumed: string[] = []
    it(
      'running on a killed node are run again by another',
      within(
        databaseKind,
        {
          jobs: {
            long: every('hour', ({ scheduledFor }) => {
              resumed.push(scheduledFor ?? '')
              return isKilled ? undefined : new Promise(() => undefined)
            }),
          },
        },
        async ({ runner, until, store }) => {
          let elapsed = 0
          // The killed node can store nothing, so it does not renew its lease.
          const records = {
            ...recordsOf(store),
            swap: async () => !isKilled && Promise.reject(new Error('away')),
          }
          const first = runner({
            ...patient,
            elapsed: () => elapsed,
            records: {
              ...records,
              swap: (key, before, after) =>
                isKilled ? records.swap() : store.records.swap(key, before, after),
            },
            onFault: () => undefined,
          })
          await until(() => resumed.length === 1, 'the first node has started the job', 300_000)
          isKilled = true
          const second = runner({ ...patient, elapsed: () => elapsed })
          await until(() => {
            elapsed += 50
            return second.state.isRunning
          }, 'the second node has taken over')
          await until(() => resumed.length >= 2, 'the job is run again')
          assert.equal(resumed[0], resumed[1])
          void first.stop()
        },
        noon,
      ),
    )
  })
}

function recordsOf({ records }: { readonly records: import('../../../src/base/records.ts').Records }) {
  return {
    get: records.get.bind(records),
    add: records.add.bind(records),
    after: records.after.bind(records),
  }
}
