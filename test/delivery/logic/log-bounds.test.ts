/**
 * What reactions keep, in the log and in records, while single events fail or take long. On SQLite only: the statements are
 * those of other tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { on } from '../../../src/index.ts'
import { sqlite as kind } from '../../engine/store/databases.ts'
import { type Fixture, handler, type LooseContext, patient, within } from './fixture.ts'

/** Records the titles of the events that it gets, and runs `act` for each. */
function recorder(act: (title: string, context: LooseContext) => unknown) {
  const titles: string[] = []
  const run = handler(async context => {
    const title = String(context.event.data['title'])
    titles.push(title)
    await act(title, context)
  })
  return { titles, run }
}

test('events are kept beyond their retention until every reaction has handled them', async () => {
  const finished = Promise.withResolvers<void>()
  const stuck = recorder(title => (title === 'slow' ? finished.promise : undefined))
  const quick = recorder(() => undefined)
  const use = async ({ task, runner, stop, until, clock, store, gaps }: Fixture) => {
    const first = runner(patient)
    await first.settled()
    for (const title of ['slow', 'a', 'b']) await task(title)
    await until(() => first.counts.succeeded === 5, 'the other events are done')
    for (let times = 0; times < 3; times++) await clock.advance(10_000)
    await sleep(400)
    assert.equal((await store.changes.bounds()).pruned, 0)
    await stop(first)
    finished.resolve()
    const second = runner(patient)
    await second.settled()
    assert.deepEqual([gaps, stuck.titles], [[], ['slow', 'a', 'b', 'slow']])
    await until(async () => (await store.changes.bounds()).pruned > 0, 'handled events are pruned', 10_000)
  }
  const retention = { maxAgeMs: 100, idleMs: 50 }
  const reactions = { stuck: on('task.created', stuck.run), quick: on('task.created', quick.run) }
  await within(kind, { reactions }, use, undefined, { retention })()
})

test('the position is past a failing event and the later ones of its item', async () => {
  let isBroken = true
  const failing = recorder(title => {
    if (isBroken && title === 'a1') throw new Error('not yet')
  })
  await within(kind, { reactions: { failing: on('task.*', failing.run) } }, async fixture => {
    const { task, rename, runner, stop, until } = fixture
    const first = runner()
    const a = await task('a1')
    for (const title of ['a2', 'a3']) await rename(a, title)
    for (const title of ['b', 'c']) await task(title)
    await until(() => first.counts.succeeded === 2 && first.state.lagEvents === 0, 'nothing is behind')
    assert.equal(first.state.waiting, 3)
    await stop(first)
    isBroken = false
    await until(() => true, 'the first retry is due', 20_000)
    const second = runner()
    await until(() => second.state.waiting === 0 && failing.titles.includes('a3'), 'all are done', 1000)
    assert.deepEqual(failing.titles.filter(title => /^a[23]|[bc]/.test(title)).toSorted(), [
      'a2',
      'a3',
      'b',
      'c',
    ])
  })()
})

test('at most a few thousand events of one reaction wait, and the others follow once they are done', async () => {
  const events = 2500
  let isBroken = true
  const failing = recorder(() => {
    if (isBroken) throw new Error('not yet')
  })
  await within(kind, { reactions: { failing: on('task.*', failing.run) } }, async fixture => {
    const { task, rename, runner, until, clock } = fixture
    const item = await task('0')
    await Promise.all(Array.from({ length: events - 1 }, (_, n) => rename(item, String(n + 1))))
    const running = runner(patient)
    await until(() => running.state.waiting >= 2000, 'many events wait')
    for (let times = 0; times < 20; times++) {
      await clock.advance(1000)
      await sleep(5)
    }
    assert.ok(running.state.waiting <= 2200, `${running.state.waiting} wait`)
    isBroken = false
    const failed = failing.titles.length
    await until(() => running.counts.succeeded + running.state.waiting > 2300, 'more events are read', 1000)
    const later = failing.titles.slice(failed).map(Number)
    assert.deepEqual(
      later,
      later.map((_, n) => n),
    )
  })()
})

test('events are read a few hundred ahead of those that run', async () => {
  const finished = Promise.withResolvers<void>()
  const waiting = recorder(() => finished.promise)
  await within(kind, { reactions: { waiting: on('task.created', waiting.run) } }, async fixture => {
    const { task, store, runner, until, clock } = fixture
    await Promise.all(Array.from({ length: 1000 }, (_, n) => task(`task ${n}`)))
    const start = (await store.changes.last()) - 1000
    let read = 0
    const { changes } = store
    const log: typeof changes = {
      last: () => changes.last(),
      bounds: () => changes.bounds(),
      hold: (name, event) => changes.hold(name, event),
      counts: () => changes.counts(),
      onCommit: listener => changes.onCommit(listener),
      poll: () => changes.poll(),
      async after(event, limit, maxBytes) {
        const found = await changes.after(event, limit, maxBytes)
        read = Math.max(read, found.at(-1)?.event ?? 0)
        return found
      },
    }
    const running = runner({ ...patient, log })
    try {
      await until(() => running.state.inFlight > 0, 'some run')
      for (let seconds = 0; seconds < 5; seconds++) {
        await clock.advance(1000)
        await sleep(5)
      }
      assert.ok(read - start <= 600, `${read - start} were read`)
    } finally {
      // Otherwise the node would wait for its runs, for as long as the clock stands still.
      finished.resolve()
    }
    await running.settled()
    assert.equal(waiting.titles.length, 1000)
  })()
})
