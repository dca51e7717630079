/** Reactions and jobs on a real database, with a clock that the tests control. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordsOf } from '../../../src/base/records.ts'
import { createWatchdog } from '../../../src/base/watchdog/watchdog.ts'
import type { RunContext } from '../../../src/delivery/runs/context.ts'
import type { LogicEvent } from '../../../src/delivery/runs/reactions/event.ts'
import { Runner, type RunnerParts, registerRuns } from '../../../src/delivery/runs/runner.ts'
import { defaultOperationLimits } from '../../../src/engine/logic/operations/call.ts'
import { deadKind, runOf } from '../../../src/engine/logic/run.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { collection, integer, model, relation, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { LogicDeclaration } from '../../../src/model/logic/logic.ts'
import type { Model } from '../../../src/model/model.ts'
import type { LogicMessage } from '../../../src/model/types/run.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { Client } from '../../engine/store/blog.ts'
import type { DatabaseKind, OpenOptions, TestDatabase } from '../../engine/store/databases.ts'
import { type FakeClock, fakeClock } from '../webhooks/clock.ts'

export const logic = (declared: LogicDeclaration): Model =>
  checkModel(
    model(
      {
        tasks: collection({ fields: { title: text(), n: integer({ default: 0 }) } }),
        notes: collection({ fields: { body: text(), task_id: relation('tasks', { optional: true }) } }),
      },
      declared,
    ),
  )

/** The context of a handler, for any model. */
export interface LooseContext extends RunContext {
  readonly event: LogicEvent
  readonly input: Readonly<Record<string, unknown>>
  readonly scheduledFor: string
}

export const handler = (run: (context: LooseContext) => unknown) => run as never

/** A time limit that is not reached although the clock advances, or jumps, while handlers run. */
export const patient = { timeoutMs: 1_000_000_000 }

export interface Failure {
  readonly run: string
  readonly error: string
  readonly isDead: boolean
}

export interface Fixture {
  readonly model: Model
  readonly store: Store
  readonly client: Client
  readonly run: Run
  readonly clock: FakeClock
  readonly mails: LogicMessage[]
  readonly failures: Failure[]
  readonly faults: unknown[]
  readonly gaps: (readonly [string, number, number])[]
  readonly missed: string[]
  readonly unknown: string[]
  /** Starts a node, which runs everything once it has the lease. */
  runner(parts?: Partial<RunnerParts>): Runner
  /** Stops a node, although its reactions still run: it waits for them for five seconds of the clock. */
  stop(node: Runner): Promise<void>
  task(title: string): Promise<number>
  rename(id: number, title: string): Promise<void>
  dead(): Promise<readonly string[]>
  /** Advances the clock until the condition holds. */
  until(condition: () => boolean | Promise<boolean>, description: string, stepMs?: number): Promise<void>
}

/** Runs `use` on a database, then stops the runners that it started. `now`: the initial time; `options`: of the store. */
export function within(
  kind: DatabaseKind,
  declared: LogicDeclaration,
  use: (fixture: Fixture, database: TestDatabase) => Promise<void>,
  now: number = Date.now(),
  options: OpenOptions = {},
) {
  return () =>
    kind.within(async database => {
      const model = logic(declared)
      const store = await database.open(model, options)
      const node = open(model, store, now)
      await registerRuns(model, { records: store.records, log: store.changes, now })
      try {
        await use(node.fixture, database)
        assert.deepEqual(node.fixture.faults, [])
      } finally {
        await node.close()
        await store.close()
      }
    })
}

function open(model: Model, store: Store, now: number) {
  const clock = fakeClock(now)
  const run = createRun(createGuard(model), store)
  const client = new Client(store, model)
  const runners: Runner[] = []
  const fixture: Fixture = {
    ...{ model, store, client, run, clock },
    ...{ mails: [], failures: [], faults: [], gaps: [], missed: [], unknown: [] },
    runner(parts = {}) {
      const runner = new Runner({ ...partsOf(fixture), ...parts })
      runners.push(runner)
      runner.start()
      return runner
    },
    async stop(node) {
      let isStopped = false
      void node.stop().then(() => {
        isStopped = true
      })
      await fixture.until(() => isStopped, 'the node has stopped', 500)
    },
    async task(title) {
      return (await client.create('tasks', { title })).id
    },
    async rename(id, title) {
      await client.update('tasks', id, { title })
    },
    async dead() {
      const failed: string[] = []
      for await (const record of recordsOf(store.records, deadKind)) {
        failed.push(`${record.id}: ${runOf(record).error}`)
      }
      return failed
    },
    async until(condition, description, stepMs = 100) {
      const deadline = performance.now() + 180_000
      while (!(await condition())) {
        if (performance.now() > deadline) throw new AggregateError(fixture.faults, `never: ${description}`)
        await (stepMs < 60_000 ? clock.advance(stepMs) : clock.jump(stepMs))
        await sleep(2)
      }
    },
  }
  const close = async () => {
    const stopping = Promise.all(runners.map(runner => runner.stop()))
    let isStopped = false
    void stopping.finally(() => {
      isStopped = true
    })
    while (!isStopped) {
      await clock.advance(500)
      await sleep(2)
    }
    await stopping
  }
  return { fixture, close }
}

const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

/** The parts of a node other than its clock. */
export function nodeParts(model: Model, store: Store): Omit<RunnerParts, 'clock' | 'elapsed'> {
  return {
    model,
    run: createRun(createGuard(model), store),
    hooks: new Map(),
    watchdog: createWatchdog(),
    limits: { ...defaultOperationLimits, timeMs: 60_000 },
    refresh: () => store.refresh(),
    mail: { send: async () => undefined },
    outgoing: { request: async () => ({ status: 200, headers: {}, body: Buffer.from('fine') }) },
    logOf: () => silentLog,
    records: store.records,
    log: store.changes,
    concurrency: 8,
    timeoutMs: 60_000,
    onceMs: 90 * 86_400_000,
    random: () => 0.5,
    hold: event => store.changes.hold('reactions', event),
    onFailed: () => undefined,
    onGap: () => undefined,
    onMissed: () => undefined,
    onUnknown: () => undefined,
    onLostUpdate: () => undefined,
    onFault: () => undefined,
  }
}

function partsOf(fixture: Fixture): RunnerParts {
  const { model, store, clock, mails, failures, faults, gaps, missed, unknown } = fixture
  return {
    ...nodeParts(model, store),
    clock,
    elapsed: () => performance.now(),
    mail: { send: async message => void mails.push(message) },
    onFailed: ({ id }, error, retryAt) =>
      void failures.push({ run: id, error, isDead: retryAt === undefined }),
    onGap: (name, from, to) => void gaps.push([name, from, to]),
    onMissed: name => void missed.push(name),
    onUnknown: name => void unknown.push(name),
    onFault: error => void faults.push(error),
  }
}
