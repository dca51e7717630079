/** Jobs on every database: each due time once over all nodes, again after a kill, missed ones once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { every, job, string } from '../../src/index.ts'
import { enqueueJob } from '../../src/logic/jobs/later.ts'
import { type Place, positionKey } from '../../src/logic/runs/place.ts'
import { requestRecord } from '../../src/logic/runs/requests.ts'
import { databases } from '../store/databases.ts'
import { within } from './fixture.ts'

/** The clock jumps while handlers run. */
const patient = { timeoutMs: 1_000_000_000 }
const hour = 3_600_000
const noon = Math.ceil(Date.now() / 86_400_000) * 86_400_000 + 12 * hour
const iso = (time: number) => new Date(time).toISOString()

for (const database of databases) {
  describe(`jobs on ${database.name}`, () => {
    const due: string[] = []
    it(
      'are started once for each due time, whichever node does',
      within(
        database,
        { jobs: { hourly: every('hour', ({ scheduledFor }) => void due.push(scheduledFor ?? '')) } },
        async ({ runner, until, missed }) => {
          const nodes = [runner(patient), runner(patient), runner(patient)]
          for (const count of [1, 2, 3]) {
            await until(() => due.length === count, `due time ${count}`, 300_000)
          }
          await nodes.find(({ state }) => state.isRunning)?.stop()
          await until(() => due.length === 5, 'another node goes on', 300_000)
          // The clock may jump over an hour while a node is busy: it is missed, and told.
          const times = due.map(time => (Date.parse(time) - noon) / hour)
          assert.ok(times.every(Number.isInteger), String(times))
          const skips = times.filter((time, at) => time !== (times[at - 1] ?? 0) + 1)
          assert.equal(skips.length, missed.length)
          assert.ok(times.every((time, at) => time > (times[at - 1] ?? 0)))
        },
        noon,
      ),
    )

    const missed: string[] = []
    it(
      'that were missed run once, for the last of them',
      within(
        database,
        {
          jobs: {
            hourly: every('hour', ({ scheduledFor }) => void missed.push(scheduledFor ?? '')),
          },
        },
        async ({ runner, until, clock, missed: told }) => {
          const first = runner(patient)
          await until(() => missed.length > 0, 'the first', 300_000)
          const stopping = first.stop()
          await until(() => !first.state.isRunning, 'it has stopped')
          await stopping
          const [before, toldBefore, stoppedAt] = [missed.length, told.length, clock.now()]
          await clock.jump(10 * hour + 60_000)
          const last = Math.floor(clock.now() / hour) * hour
          runner(patient)
          await until(() => missed.includes(iso(last)), 'it goes on')
          // One that was due before the stop may have been stored, and not run.
          const stored = missed.slice(before, missed.indexOf(iso(last)))
          assert.ok(stored.length <= 1 && stored.every(time => Date.parse(time) <= stoppedAt), String(missed))
          assert.deepEqual(told.slice(toldBefore), ['hourly'])
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
      'that fail are tried again with the same key, and no other due time is lost',
      within(
        database,
        {
          jobs: {
            nightly: every('day at 03:00', { timeZone: 'UTC' }, ({ scheduledFor, idempotencyKey }) => {
              attempts.push(scheduledFor ?? '')
              if (failures-- > 0) throw new Error('not yet')
              keys.add(idempotencyKey)
            }),
          },
        },
        async ({ runner, until, failures: told }) => {
          runner(patient)
          await until(() => attempts.length === 4, 'two nights', 300_000)
          assert.equal(new Set(attempts.slice(0, 3)).size, 1)
          assert.notEqual(attempts[3], attempts[0])
          assert.equal(keys.size, 2)
          assert.equal(told.length, 2)
        },
        noon,
      ),
    )

    let isBroken = true
    const broken: string[] = []
    it(
      'are given up when the next run is due',
      within(
        database,
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
          await until(async () => (await dead()).length === 2, 'two are dead', 1000)
          isBroken = false
          const [first = ''] = await dead()
          assert.match(first, /^often\/.*: Error: broken \(not tried again: the next run is due\)$/)
          // In a minute: at once, after 5 s, 20 s more; the next would be after 80 s.
          assert.equal(broken.filter(time => time === broken[0]).length, 3)
        },
        noon,
      ),
    )

    const reminded: string[] = []
    it(
      'that are asked for run at their time with their input, also in another process’s transaction',
      within(
        database,
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
          const ask = (at: number, text: string) =>
            enqueueJob(iso(at), 'remind', { text }, { model, now, depth: 0 })
          for (const [at, text] of [
            [now + 2 * hour, 'second'],
            [now + hour, 'first'],
            [now - hour, 'at once'],
          ] as const) {
            const step = ask(at, text)
            assert.equal(step.kind, 'put')
            if (step.kind === 'put') await store.records.put(step.record)
          }
          runner(patient)
          await until(() => reminded.length === 1, 'the one that is due')
          assert.deepEqual(reminded, ['at once kind'])
          await until(() => reminded.length === 3, 'the others', 300_000)
          assert.deepEqual(reminded, ['at once kind', 'first kind', 'second kind'])
          assert.throws(() => ask(Number.NaN, 'x'), RangeError)
          const options = { model, now, depth: 0 }
          assert.throws(() => enqueueJob('soon', 'remind', {}, options), /ISO 8601/)
          assert.throws(() => enqueueJob(iso(now), 'remnd', {}, options), /Did you mean `remind`/)
          assert.throws(() => enqueueJob(iso(now), 'remind', {}, options), /text is required/)
          assert.throws(() => enqueueJob(iso(now), 'remind', { text: 1 }, options), /text must/)
        },
        noon,
      ),
    )

    it(
      'that the model no longer has are forgotten on request, with their due times',
      within(
        database,
        { jobs: { hourly: every('hour', () => undefined) } },
        async ({ runner, until, store: { records } }) => {
          const { kind, id } = positionKey
          const place = async (): Promise<Place> => JSON.parse((await records.get(kind, id))?.payload ?? '')
          const { jobs, ...rest } = await place()
          const payload = JSON.stringify({ ...rest, jobs: { ...jobs, gone: jobs['hourly'] } })
          await records.put({ kind, id, payload, expiresAt: null })
          await records.put(requestRecord('skip', 'gone'))
          runner(patient)
          await until(async () => !Object.hasOwn((await place()).jobs, 'gone'), 'its place is removed')
          assert.deepEqual(Object.keys((await place()).jobs), ['hourly'])
        },
        noon,
      ),
    )

    let isKilled = false
    const resumed: string[] = []
    it(
      'under way on a node that is killed are run again by the next',
      within(
        database,
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
          // It can store nothing any more, and does not renew its lease.
          const records = {
            ...recordsOf(store),
            swap: async () => !isKilled && Promise.reject(new Error('away')),
          }
          const first = runner({
            timeoutMs: 1_000_000_000,
            elapsed: () => elapsed,
            records: {
              ...records,
              swap: (key, before, after) =>
                isKilled ? records.swap() : store.records.swap(key, before, after),
            },
            onFault: () => undefined,
          })
          await until(() => resumed.length === 1, 'the first node has begun', 300_000)
          isKilled = true
          const second = runner({ timeoutMs: 1_000_000_000, elapsed: () => elapsed })
          await until(() => {
            elapsed += 50
            return second.state.isRunning
          }, 'the second has taken over')
          await until(() => resumed.length >= 2, 'it is run again')
          assert.equal(resumed[0], resumed[1])
          void first.stop()
        },
        noon,
      ),
    )
  })
}

function recordsOf({ records }: { readonly records: import('../../src/records.ts').Records }) {
  return {
    get: records.get.bind(records),
    add: records.add.bind(records),
    after: records.after.bind(records),
  }
}
