/**
 * What a restart repeats, on every database: only the events whose results are not stored. One event that takes long must not
 * make those of other items run again.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { waitingKind } from '../../../src/engine/logic/run.ts'
import { job, on, string } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { handler, type LooseContext, patient, within } from './fixture.ts'

/** A reaction that waits at events with the title "slow" until it is aborted or `release` is called. */
function slowReaction(act: (context: LooseContext) => unknown = () => undefined) {
  const titles: string[] = []
  const finished = Promise.withResolvers<void>()
  const run = handler(async context => {
    const title = String(context.event.data['title'])
    titles.push(title)
    if (title === 'slow') await finished.promise
    else await act(context)
  })
  return { titles, run, release: () => finished.resolve() }
}

for (const kind of databaseKinds) {
  describe(`after a restart on ${kind.name}`, () => {
    it('no job runs twice that a reaction has started while an earlier event still ran', async () => {
      const jobs: string[] = []
      const counting = slowReaction(({ later, now, event }) =>
        later(now, 'count', { title: String(event.data['title']) }),
      )
      const count = job({
        input: { title: string() },
        run: ({ input }) => void jobs.push(String(input.title)),
      })
      await within(
        kind,
        { reactions: { counting: on('task.created', counting.run) }, jobs: { count } },
        async fixture => {
          const { task, runner, until, stop } = fixture
          const first = runner(patient)
          for (const title of ['slow', 'a', 'b', 'c', 'd', 'e']) await task(title)
          await until(() => jobs.length === 5, 'five jobs have run', 500)
          await stop(first)
          counting.release()
          const second = runner(patient)
          await until(() => counting.titles.filter(title => title === 'slow').length === 2, 'slow runs again')
          await second.settled()
          assert.deepEqual(jobs.toSorted(), ['a', 'b', 'c', 'd', 'e'])
        },
      )()
    })

    it('no item goes back to an earlier event than the last one that is stored', async () => {
      const seen = slowReaction()
      await within(kind, { reactions: { seen: on('task.*', seen.run) } }, async fixture => {
        const { task, rename, runner, until, stop } = fixture
        const first = runner(patient)
        await task('slow')
        const item = await task('1')
        for (const title of ['2', '3', '4']) await rename(item, title)
        await until(() => first.counts.succeeded === 4, 'the events of the item are done')
        await stop(first)
        seen.titles.length = 0
        seen.release()
        await rename(item, '5')
        await runner().settled()
        assert.deepEqual(seen.titles.toSorted(), ['5', 'slow'])
      })()
    })

    it('a run that ends during an orderly stop is done', async () => {
      const seen = slowReaction()
      await within(kind, { reactions: { seen: on('task.created', seen.run) } }, async fixture => {
        const { task, runner, until, stop } = fixture
        const first = runner(patient)
        await task('slow')
        await until(() => seen.titles.length === 1, 'it has started')
        const stopping = stop(first)
        seen.release()
        await stopping
        await runner().settled()
        assert.deepEqual(seen.titles, ['slow'])
      })()
    })

    it('an item continues only once the result of its previous event is stored', async () => {
      const seen = slowReaction()
      await within(kind, { reactions: { seen: on('task.*', seen.run) } }, async fixture => {
        const { task, rename, runner, until, run } = fixture
        const storing = Promise.withResolvers<void>()
        const transaction: typeof run.transaction = async program => {
          await storing.promise
          return run.transaction(program)
        }
        const item = await task('1')
        await rename(item, '2')
        await task('other')
        const node = runner({ ...patient, run: { ...run, transaction } })
        await until(() => seen.titles.length === 2, 'the first events of both items have run')
        await until(() => node.counts.succeeded === 2, 'both have succeeded')
        assert.deepEqual(seen.titles, ['1', 'other'])
        storing.resolve()
        await node.settled()
        assert.deepEqual(seen.titles, ['1', 'other', '2'])
      })()
    })

    it('a retry keeps its attempts and its time, and runs no more once it has succeeded', async () => {
      let isBroken = true
      const attempts: number[] = []
      const failing = slowReaction(({ attempt }) => {
        attempts.push(attempt)
        if (isBroken) throw new Error('not yet')
      })
      await within(kind, { reactions: { failing: on('task.*', failing.run) } }, async fixture => {
        const { task, runner, until, clock, stop } = fixture
        const first = runner(patient)
        await task('slow')
        await task('failing')
        await until(() => attempts.length === 3, 'it has failed three times', 1000)
        await stop(first)
        const second = runner(patient)
        await until(() => failing.titles.filter(title => title === 'slow').length === 2, 'slow runs again')
        assert.deepEqual(attempts, [1, 2, 3])
        isBroken = false
        await until(() => attempts.length === 4, 'it is tried again', 5000)
        assert.deepEqual(attempts, [1, 2, 3, 4])
        await until(() => second.counts.succeeded === 1, 'its success is counted')
        await stop(second)
        failing.release()
        await runner().settled()
        await clock.advance(1000)
        assert.deepEqual(attempts, [1, 2, 3, 4])
      })()
    })

    // The statements are those of the tests above.
    if (kind !== databaseKinds[0]) return
    it('the position is past an event that still runs after a thousand others, and all of them run once', async () => {
      const soon = Promise.withResolvers<void>()
      const many = slowReaction(({ event }) => (event.data['title'] === 'soon' ? soon.promise : undefined))
      const others = 1100
      await within(kind, { reactions: { many: on('task.created', many.run) } }, async fixture => {
        const { task, runner, until, store, stop } = fixture
        const records = async () => (await store.records.after(waitingKind, '', 10)).length
        const first = runner(patient)
        for (const title of ['slow', 'soon']) await task(title)
        await Promise.all(Array.from({ length: others }, (_, n) => task(`other ${n}`)))
        await until(() => first.counts.succeeded === others, 'all others are done', 20)
        await until(() => first.state.lagEvents < 200, 'the position is past the slow events')
        // One that was in progress when the limit was reached has a record too, until its result is stored.
        await until(async () => (await records()) === 2, 'the records of those that are done are deleted')
        soon.resolve()
        await until(async () => (await records()) === 1, 'one that ran meanwhile is done')
        await stop(first)
        many.titles.length = 0
        many.release()
        const second = runner(patient)
        await second.settled()
        assert.deepEqual(many.titles, ['slow'])
        await stop(second)
        await runner().settled()
        assert.deepEqual(many.titles, ['slow'])
        assert.equal(await records(), 0)
      })()
    })
  })
}
