/** Nodes with different models on one database: what one of them does not know is left to the others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { registerRuns } from '../../../src/delivery/runs/runner.ts'
import { enqueueJob } from '../../../src/engine/logic/operations/later.ts'
import { jobKind } from '../../../src/engine/logic/run.ts'
import { every, job, on } from '../../../src/index.ts'
import type { LogicDeclaration } from '../../../src/model/logic/logic.ts'
import { plainDatabaseKinds } from '../../engine/store/databases.ts'
import { handler, logic, patient, within } from './fixture.ts'

const hourMs = 3_600_000
const noon = Math.ceil(Date.now() / (24 * hourMs)) * 24 * hourMs + 12 * hourMs

for (const kind of plainDatabaseKinds) {
  describe(`nodes with different models on ${kind.name}`, () => {
    it('keep one record of a run whose job only another node has, which then runs it once', async () => {
      const runs: string[] = []
      const both = {
        known: job({ run: () => undefined }),
        other: job({ run: () => void runs.push('other') }),
      }
      await within(
        kind,
        { jobs: both },
        async ({ model, store, clock, runner, stop, until }) => {
          const { record } = enqueueJob(new Date(noon), 'other', {}, { model, now: noon, depth: 0 }) as {
            readonly record: Parameters<typeof store.records.put>[0]
          }
          await store.records.put(record)
          const recordIds = async () => (await store.records.after(jobKind, '', 100)).map(({ id }) => id)
          const without = runner({ ...patient, model: logic({ jobs: { known: both.known } }) })
          await until(async () => (await recordIds())[0] !== record.id, 'the run is postponed')
          for (let seconds = 0; seconds < 12; seconds++) await clock.advance(1000)
          await without.settled()
          assert.equal((await recordIds()).length, 1)
          await stop(without)
          const withIt = runner(patient)
          await until(() => runs.length > 0, 'the other node runs it', 30_000)
          await withIt.settled()
          assert.deepEqual([runs, await recordIds()], [['other'], []])
        },
        noon,
      )()
    })

    it('keep the positions of reactions that only others have, and what those have done', async () => {
      const [shared, own]: [string[], string[]] = [[], []]
      const finished = Promise.withResolvers<void>()
      const recorded = (titles: string[]) =>
        on(
          'task.created',
          handler(async ({ event }) => {
            const title = String(event.data['title'])
            titles.push(title)
            if (title === 'slow') await finished.promise
          }),
        )
      const declared: LogicDeclaration = { reactions: { shared: recorded(shared), own: recorded(own) } }
      await within(kind, declared, async ({ runner, stop, until, task }) => {
        const withBoth = runner(patient)
        for (const title of ['slow', 'a', 'b']) await task(title)
        await until(() => withBoth.counts.succeeded === 4, 'both reactions have done a and b')
        await stop(withBoth)
        shared.length = 0
        own.length = 0
        finished.resolve()
        const withOne = runner({
          ...patient,
          model: logic({ reactions: { shared: declared.reactions?.['shared'] as never } }),
        })
        await task('c')
        await withOne.settled()
        await stop(withOne)
        assert.deepEqual([shared.toSorted(), own], [['c', 'slow'], []])
        await task('d')
        await runner(patient).settled()
        assert.deepEqual(
          [shared.toSorted(), own.toSorted()],
          [
            ['c', 'd', 'slow'],
            ['c', 'd', 'slow'],
          ],
        )
      })()
    })

    it('a schedule with another time zone begins with its next due time, not with one of the past', async () => {
      const due: string[] = []
      const nightly = (timeZone: string): LogicDeclaration => ({
        jobs: {
          nightly: every(
            'day at 03:00',
            { timeZone },
            ({ scheduledFor }) => void due.push(scheduledFor ?? ''),
          ),
        },
      })
      await within(
        kind,
        nightly('UTC'),
        async ({ store, clock, runner, stop, until }) => {
          const before = runner(patient)
          await before.settled()
          await stop(before)
          await clock.jump(23 * hourMs)
          const model = logic(nightly('Asia/Tokyo'))
          await registerRuns(model, { records: store.records, log: store.changes, now: clock.now() })
          const after = runner({ ...patient, model })
          await after.settled()
          assert.deepEqual(due, [])
          await until(() => due.length > 0, 'the next due time', 300_000)
          // 03:00 in Tokyo; 03:00 UTC and 18:00 UTC of the day before have passed unnoticed.
          assert.deepEqual(due, [new Date(noon + 30 * hourMs).toISOString()])
        },
        noon,
      )()
    })
  })
}
