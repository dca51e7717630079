/** Runs during which the process ended: they start again one at a time, marked, and become dead letters after three times. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  jobKind,
  reactionRun,
  runOf,
  storedRun,
  storeStep,
  waitingKind,
} from '../../../src/engine/logic/run.ts'
import { job, on, string } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, handler, type LooseContext, patient, within } from './fixture.ts'

/** A handler that notes what it starts and, except when it is `released`, waits until it is aborted. */
function stuckHandler(titleOf: (context: LooseContext) => unknown) {
  const starts: (readonly [title: string, attempt: number])[] = []
  let isReleased = (_title: string) => false
  let running = 0
  let mostRunning = 0
  const run = handler(async context => {
    const title = String(titleOf(context))
    starts.push([title, context.attempt])
    mostRunning = Math.max(mostRunning, ++running)
    try {
      if (isReleased(title)) await context.data['tasks']?.count()
      else await new Promise((_, reject) => context.signal.addEventListener('abort', reject))
    } finally {
      running--
    }
  })
  return {
    run,
    release: (releases: (title: string) => boolean) => {
      isReleased = releases
    },
    /** What has started since the last call, and the greatest number of them at once. */
    take: () => {
      const taken = { starts: starts.splice(0), mostRunning }
      mostRunning = 0
      return taken
    },
    hasStarted: (title: string) => starts.some(([started]) => started === title),
    get count() {
      return starts.length
    },
  }
}

/** Leaves the lease as a node does whose process ends. */
async function leaveLease({ store }: Fixture): Promise<void> {
  const lease = await store.records.get('Logic', 'lease')
  const { term } = JSON.parse(lease?.payload ?? '{"term":0}')
  const payload = JSON.stringify({ holder: 'ended', term, renewals: 3 })
  await store.records.put({ kind: 'Logic', id: 'lease', payload, expiresAt: null })
}

/** Stops the node without its runs, as if its process had ended, and starts the next one. */
async function endProcess(
  fixture: Fixture,
  node: Parameters<Fixture['stop']>[0],
  parts: Parameters<Fixture['runner']>[0] = {},
) {
  await fixture.stop(node)
  await leaveLease(fixture)
  let elapsedMs = 0
  return fixture.runner({ ...patient, elapsed: () => (elapsedMs += 500), ...parts })
}

/** The log, and an outage of the database, which lasts until the node has noticed it. */
function interruptible({ store, until }: Fixture) {
  let isOut = false
  let refused = 0
  const log = new Proxy(store.changes, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'last' || !isOut) return value.bind(target)
      return async () => {
        refused++
        throw new Error('the database is out')
      }
    },
  })
  const outage = async () => {
    refused = 0
    isOut = true
    await until(() => refused > 0, 'the node notices the outage')
    isOut = false
  }
  return { log, outage }
}

/** As many as one target may have in progress. */
const titles = ['a', 'loop', 'b', 'c']

for (const kind of databaseKinds) {
  describe(`after a process has ended on ${kind.name}`, () => {
    for (const subject of ['reaction', 'job'] as const) {
      const stuck = stuckHandler(({ event, input }) => (event ? event.data['title'] : input['title']))
      const declared =
        subject === 'reaction'
          ? { reactions: { stuck: on('task.created', stuck.run) } }
          : {
              reactions: {
                start: on(
                  'task.created',
                  handler(({ later, now, event }) =>
                    later(now, 'stuck', { title: event.data['title'] } as never),
                  ),
                ),
              },
              jobs: { stuck: job({ input: { title: string() }, run: stuck.run }) },
            }

      it(
        `the ${subject} that ends it becomes a dead letter after three times, and no other does`,
        within(kind, declared, async fixture => {
          const { task, runner, until, store, dead } = fixture
          const records = async () => {
            const all = [
              ...(await store.records.after(waitingKind, '', 50)),
              ...(await store.records.after(jobKind, '', 50)),
            ]
            return all.map(runOf).filter(({ name }) => name === 'stuck')
          }
          let node = runner(patient)
          for (const title of titles) {
            await task(title)
            const { count } = stuck
            await until(() => stuck.count > count, `${title} has started`, 20)
          }
          const first = stuck.take()
          assert.deepEqual(first, { starts: titles.map(title => [title, 1]), mostRunning: 4 })
          assert.ok(
            (await records()).every(({ attempts }) => attempts === 0),
            'the first starts are not marked',
          )

          node = await endProcess(fixture, node)
          stuck.release(title => title !== 'loop')
          // Those that wait take turns in any order.
          await until(() => stuck.hasStarted('loop'), 'the runs start again')
          const second = stuck.take()
          assert.equal(second.mostRunning, 1)
          assert.deepEqual(second.starts.at(-1), ['loop', 2])
          const marked = (await records()).filter(({ processEnds }) => processEnds !== undefined)
          assert.deepEqual(
            marked.map(({ attempts, processEnds, error }) => [attempts, processEnds, error]),
            [[1, 1, 'The process ended during the run.']],
          )
          assert.deepEqual(
            fixture.failures.map(({ error, isDead }) => [error, isDead]),
            second.starts.map(() => ['The process ended during the run.', false]),
          )
          // New ones wait for nothing.
          await task('new')
          await until(() => stuck.count >= 1, 'the new one starts', 20)
          assert.deepEqual(stuck.take().starts, [['new', 1]])

          node = await endProcess(fixture, node)
          await until(() => stuck.hasStarted('loop'), 'it starts for the third time')
          const third = stuck.take()
          assert.equal(third.mostRunning, 1)
          assert.deepEqual(third.starts.at(-1), ['loop', 3])
          assert.deepEqual(await dead(), [])

          node = await endProcess(fixture, node)
          // Besides these: `loop`, twice.
          const earlier = second.starts.length + third.starts.length - 2
          await until(
            async () => (await dead()).length === 1 && earlier + stuck.count === 3,
            'the others start',
          )
          await node.settled()
          const last = stuck.take()
          assert.ok(last.mostRunning <= 1)
          const innocent = [...second.starts, ...third.starts, ...last.starts].filter(
            ([title]) => title !== 'loop',
          )
          assert.deepEqual(innocent.toSorted(), [
            ['a', 2],
            ['b', 2],
            ['c', 2],
          ])
          const [letter = '', ...others] = await dead()
          assert.deepEqual(others, [])
          assert.match(
            letter,
            /^stuck\/.*: The process ended during the run\. \(not tried again: it did 3 times\)$/,
          )
          assert.deepEqual(await records(), [])
        }),
      )
    }

    const once = stuckHandler(({ event }) => event.data['title'])
    it(
      'runs are marked although the first marks cannot be stored',
      within(kind, { reactions: { stuck: on('task.created', once.run) } }, async fixture => {
        const { run, task, until, runner } = fixture
        const node = runner(patient)
        await task('x')
        await until(() => once.take().starts.length === 1, 'it starts')
        let failures = 0
        const failing: typeof run = Object.create(run, {
          transaction: {
            value: (...args: Parameters<typeof run.transaction>) => {
              if (failures++ < 2) throw new Error('no commit')
              return run.transaction(...args)
            },
          },
        })
        await endProcess(fixture, node, { run: failing, onFault: () => undefined })
        await until(() => once.count > 0, 'it starts again')
        assert.deepEqual(once.take().starts, [['x', 2]])
        assert.ok(failures > 2)
      }),
    )

    const long = stuckHandler(({ event }) => event.data['title'])
    it(
      'outages of the database count as no ends of the process',
      within(kind, { reactions: { long: on('task.created', long.run) } }, async fixture => {
        const { store, task, until, runner, dead } = fixture
        const node = runner(patient)
        await task('x')
        await until(() => long.take().starts.length === 1, 'it starts')
        const { log, outage } = interruptible(fixture)
        const next = await endProcess(fixture, node, { log, onFault: () => undefined })
        const stored = async () => (await store.records.after(waitingKind, '', 50)).map(runOf)
        for (let outages = 0; outages < 3; outages++) {
          await until(() => long.count > outages, 'it starts again')
          await outage()
        }
        await until(() => long.count > 3, 'it starts after the last outage')
        assert.deepEqual(
          (await stored()).map(({ attempts, processEnds }) => [attempts, processEnds]),
          [[1, 1]],
        )
        assert.deepEqual(await dead(), [])
        long.release(() => true)
        await fixture.stop(next)
      }),
    )

    const after = stuckHandler(({ event }) => event.data['title'])
    it(
      'the retry of a reaction that the model no longer has is no suspect',
      within(kind, { reactions: { after: on('task.created', after.run) } }, async fixture => {
        const { store, task, until, runner, failures } = fixture
        const node = runner(patient)
        await task('x')
        await until(() => after.take().starts.length === 1, 'it starts')
        const [change] = await store.changes.after(0, 1)
        assert.ok(change)
        const gone = { ...storedRun(reactionRun('gone', change)), attempts: 1 }
        const step = storeStep(gone)
        assert.ok(step.kind === 'put')
        await store.records.put(step.record)
        const { log, outage } = interruptible(fixture)
        await endProcess(fixture, node, { log, onUnknown: () => undefined, onFault: () => undefined })
        await until(() => after.take().starts.length === 1, 'it starts again')
        after.release(title => title === 'x')
        await outage()
        await until(() => failures.length > 0 && after.hasStarted('x'), 'it is done')
        await task('new')
        await until(() => after.hasStarted('new'), 'a new one starts')
        const marks = failures.length
        after.take()
        await outage()
        await until(() => after.hasStarted('new'), 'it starts again')
        assert.equal(failures.length, marks, 'the outage has ended no process')
        after.release(() => true)
      }),
    )

    it(
      'an error that cannot become text is a failure like any other',
      within(
        kind,
        {
          reactions: {
            odd: on(
              'task.created',
              handler(() => {
                throw Object.assign(new Error('x'), { name: Symbol('odd') })
              }),
            ),
          },
        },
        async ({ task, until, runner, failures }) => {
          runner()
          await task('x')
          await until(() => failures.length > 0, 'it fails')
          assert.equal(failures[0]?.error, 'Thrown: object')
        },
      ),
    )

    it(
      'no node takes over before endless code would have been ended',
      within(
        kind,
        {
          reactions: {
            idle: on(
              'task.created',
              handler(() => undefined),
            ),
          },
        },
        async fixture => {
          await leaveLease(fixture)
          let elapsedMs = 0
          let looks = 0
          const elapsed = () => {
            looks++
            return elapsedMs
          }
          const node = fixture.runner({ elapsed })
          for (const ms of [0, 11_999]) {
            elapsedMs = ms
            looks = 0
            await fixture.until(() => looks >= 6, 'it looks at the lease')
            assert.equal(node.state.isRunning, false, `after ${ms} ms`)
          }
          elapsedMs = 12_000
          await fixture.until(() => node.state.isRunning, 'it takes over')
        },
      ),
    )

    const failing = stuckHandler(({ event, attempt }) => {
      if (attempt === 3) throw new Error('fails')
      return event.data['title']
    })
    it(
      'a run that fails or is retried by an operator begins to count anew',
      within(kind, { reactions: { failing: on('task.created', failing.run) } }, async fixture => {
        const { task, runner, until, dead, failures } = fixture
        let node = runner(patient)
        await task('x')
        for (const attempt of [1, 2]) {
          await until(() => failing.count === attempt, `attempt ${attempt}`)
          node = await endProcess(fixture, node)
        }
        await until(() => failures.some(({ error }) => /fails/.test(error)), 'the third attempt has failed')
        for (const attempt of [4, 5, 6]) {
          await until(() => failing.take().starts.at(-1)?.[1] === attempt, `attempt ${attempt}`, 500)
          node = await endProcess(fixture, node)
        }
        await until(async () => (await dead()).length === 1, 'it is a dead letter')
        await fixture.store.records.put({
          kind: 'LogicRequest',
          id: (await dead())[0]?.split(':')[0] ?? '',
          payload: JSON.stringify({ action: 'retry' }),
          expiresAt: null,
        })
        await until(() => failing.take().starts.at(-1)?.[1] === 1, 'it is retried')
        node = await endProcess(fixture, node)
        await until(() => failing.take().starts.at(-1)?.[1] === 2, 'it starts again')
      }),
    )
  })
}
