/** Reactions on every database: each event at least once and in the order of its item, despite failures and node changes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { requestRecord } from '../../../src/delivery/runs/requests.ts'
import { maxDepth } from '../../../src/delivery/runs/results.ts'
import { integer, job, on } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { handler, type LooseContext, patient, within } from './fixture.ts'

/** Records the events that the handlers of a test get, in order, and runs `act` for each. */
function recorder(act: (context: LooseContext, events: readonly string[]) => unknown = () => undefined) {
  const events: string[] = []
  const contexts: LooseContext[] = []
  const run = handler(async context => {
    contexts.push(context)
    events.push(String(context.event.data['title']))
    await act(context, events)
  })
  return { seen: events, contexts, run }
}

for (const kind of databaseKinds) {
  describe(`reactions on ${kind.name}`, () => {
    const all = recorder()
    it(
      'get every event of their types, complete',
      within(kind, { reactions: { all: on(['task.created', 'task.updated'], all.run) } }, async fixture => {
        const { task, rename, client, runner, until } = fixture
        const id = await task('one')
        await rename(id, 'two')
        await client.create('notes', { body: 'unwanted' })
        runner()
        await until(() => all.seen.length === 2, 'both events are handled')
        assert.deepEqual(all.seen, ['one', 'two'])
        const [created, updated] = all.contexts.map(({ event }) => event)
        assert.ok(created && updated)
        assert.deepEqual(
          [created.type, created.item_id, created.changed, created.previous, created.actor],
          ['task.created', id, null, null, null],
        )
        assert.deepEqual([updated.type, updated.changed], ['task.updated', ['title']])
        assert.equal(updated.previous?.['title'], 'one')
        const keys = new Set(all.contexts.map(({ idempotencyKey }) => idempotencyKey))
        assert.equal(keys.size, 2)
      }),
    )

    let failures = 3
    const failing = recorder(({ event }) => {
      if (event.data['title'] === 'a1' && failures-- > 0) throw new Error('not yet')
    })
    it(
      'retry an event with the same key and delay the later ones of its item, but not of others',
      within(kind, { reactions: { failing: on('task.*', failing.run) } }, async fixture => {
        const { task, rename, runner, until, failures: reported } = fixture
        const running = runner()
        const a = await task('a1')
        const b = await task('b1')
        await rename(a, 'a2')
        await rename(a, 'a3')
        await rename(b, 'b2')
        await until(
          () => failing.seen.includes('b2') && failing.seen.includes('a1'),
          'the other item continues',
        )
        assert.ok(!failing.seen.includes('a2'))
        await until(() => failing.seen.includes('a3'), 'all events are handled', 2000)
        const ofA = failing.seen.filter(title => title.startsWith('a'))
        assert.deepEqual(ofA, ['a1', 'a1', 'a1', 'a1', 'a2', 'a3'])
        const first = failing.contexts.filter(({ event }) => event.data['title'] === 'a1')
        assert.equal(new Set(first.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
        assert.deepEqual(
          reported.map(({ error }) => error),
          Array.from({ length: 3 }, () => 'Error: not yet'),
        )
        await until(() => running.state.waiting === 0, 'no run waits')
      }),
    )

    let isBroken = true
    const broken = recorder(() => {
      if (isBroken) throw { code: 7 }
    })
    it(
      'stop retrying an event after three days, keep it, and retry or drop it on request',
      within(kind, { reactions: { broken: on('task.created', broken.run) } }, async fixture => {
        const { task, runner, until, dead, store } = fixture
        const running = runner(patient)
        await task('first')
        await task('second')
        await until(async () => (await dead()).length === 2, 'both runs are dead', 3_600_000)
        assert.equal(broken.seen.length, 26)
        const [first = '', second = ''] = await dead()
        assert.match(first, /^broken\/\d+: Thrown: \{"code":7\}$/)
        isBroken = false
        const idOf = (line: string) => line.slice(0, line.indexOf(':'))
        await store.records.put(requestRecord('retry', idOf(first)))
        await store.records.put(requestRecord('skip', idOf(second)))
        await until(async () => (await dead()).length === 0, 'no dead run is left')
        await until(() => running.counts.succeeded === 1, 'one run has succeeded')
        assert.equal(broken.seen.at(-1), 'first')
        assert.equal(broken.seen.length, 27)
      }),
    )

    const chained = recorder(async ({ data, event }) => {
      await data['tasks']?.update(event.item_id, { title: `${event.data['title']}+` })
    })
    it(
      'that start each other in a chain are stopped at the maximum depth, and reported',
      within(kind, { reactions: { chained: on('task.*', chained.run) } }, async fixture => {
        const { task, runner, until, dead, failures: reported } = fixture
        runner()
        await task('x')
        await until(async () => (await dead()).length === 1, 'the chain has ended')
        assert.equal(chained.seen.length, maxDepth)
        assert.match(reported[0]?.error ?? '', /at the end of a chain/)
        await until(() => true, 'one more step of the clock')
        assert.equal(chained.seen.length, maxDepth)
      }),
    )

    const jobs: string[] = []
    const enqueuing = recorder(({ later, now }, events) => {
      later(now, 'remind', { n: events.length })
      if (events.length === 1) throw new Error('its job must not be stored')
    })
    it(
      'store the jobs that they enqueue only if they succeed',
      within(
        kind,
        {
          reactions: { enqueuing: on('task.created', enqueuing.run) },
          jobs: {
            remind: job({
              input: { n: integer() },
              run: ({ input }) => void jobs.push(String(input.n)),
            }),
          },
        },
        async fixture => {
          const { task, runner, until } = fixture
          runner()
          await task('x')
          await until(() => jobs.length > 0, 'the job has run', 1000)
          assert.deepEqual(jobs.splice(0), ['2'])
        },
      ),
    )

    const takeover = recorder()
    it(
      'continue at the position of a node that was stopped or killed',
      within(kind, { reactions: { taken: on('task.*', takeover.run) } }, async fixture => {
        const { task, runner, until, store } = fixture
        const first = runner()
        await task('one')
        await until(() => takeover.seen.length === 1, 'the first node has handled the event')
        await until(() => first.state.lagEvents === 0, 'its position is stored')
        await first.stop()
        await task('two')
        // A killed node leaves a lease that is not renewed.
        let elapsed = 0
        await store.records.put({
          kind: 'Logic',
          id: 'lease',
          payload: JSON.stringify({ holder: 'killed', term: 9, renewals: 3 }),
          expiresAt: null,
        })
        const second = runner({ elapsed: () => elapsed })
        await until(() => true, 'the second node checks the lease')
        assert.equal(second.state.isRunning, false)
        assert.deepEqual(takeover.seen, ['one'])
        await until(() => {
          // Fewer than 15 s pass by this clock, however slow the database is.
          elapsed = Math.min(elapsed + 100, 14_900)
          return takeover.seen.length === 2
        }, 'the second node has taken over')
        assert.deepEqual(takeover.seen, ['one', 'two'])
      }),
    )

    const settled = recorder(({ event }) => {
      if (event.data['title'] === 'bad') throw new Error('bad')
    })
    it(
      'are settled once every run has succeeded or waits for a retry',
      within(kind, { reactions: { settled: on('task.created', settled.run) } }, async fixture => {
        const { task, runner } = fixture
        let elapsedMs = 0
        // A machine so busy that the lease is out of date after four looks at it, while the clock stands still.
        const running = runner({ elapsed: () => (elapsedMs += 1000) })
        for (let n = 0; n < 300; n++) await task(n === 7 ? 'bad' : `task ${n}`)
        await running.settled()
        assert.equal(settled.seen.length, 300)
        assert.equal(running.state.waiting, 1)
      }),
    )
  })
}
