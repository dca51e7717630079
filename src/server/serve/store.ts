/** Opens the database of a service, and runs guarded plans on it. */

import { writeSync } from 'node:fs'
import type { Awaitable } from '../../base/awaitable.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { isOutOfDescriptors } from '../../base/errors.ts'
import { type Principal, service } from '../../base/principal.ts'
import { createWatchdog } from '../../base/watchdog/watchdog.ts'
import { registerRuns } from '../../delivery/runs/runner.ts'
import { checkRun } from '../../engine/logic/checks.ts'
import { defaultOperationLimits } from '../../engine/logic/operations/call.ts'
import type { ItemAnswer, ListAnswer } from '../../engine/plan/answer.ts'
import type { AnswerLimits } from '../../engine/plan/answer-bound.ts'
import { createGuard, type Guard } from '../../engine/plan/guard/guard.ts'
import type { Run } from '../../engine/plan/run.ts'
import type {
  AsyncStep,
  GuardedProgram,
  IndependentWrites,
  InnerStep,
  PlanAs,
  Program,
  ProgramPlan,
  ProgramStep,
  RecordChange,
  StepAnswer,
} from '../../engine/plan/transaction.ts'
import type { CheckpointListener } from '../../engine/store/sqlite/file/checkpoints.ts'
import { openSqlite } from '../../engine/store/sqlite/sqlite.ts'
import type { Store } from '../../engine/store/store.ts'
import type { ReadingChecks } from '../../engine/store/write/model-code.ts'
import type { Cascade } from '../../engine/store/write/removal/cascades.ts'
import { bootstrap } from '../../identity/bootstrap.ts'
import type { EncryptedRecords } from '../../identity/encryption/encrypted-records.ts'
import { openRecords } from '../../identity/encryption/open-records.ts'
import type { FirstAdministrator } from '../../identity/first-administrator.ts'
import type { Model } from '../../model/model.ts'
import { type Settings, SettingsError } from '../config/config.ts'
import { isPostgres, publicName } from '../config/database.ts'
import { refuseRowSecurity } from '../config/row-security.ts'
import type { Log } from '../observability/log.ts'
import type { WorkerContext } from '../workers/context.ts'
import { logSlowList } from './monitoring/slow-lists.ts'
import { loggedWatchdog } from './watchdog.ts'

/** The parts of a serving process. */
interface Serving {
  readonly log: Log
  readonly worker?: WorkerContext | undefined
  /** For tests. */
  readonly now?: (() => EpochMs) | undefined
}

/** A write holds a lock while its answer is made. */
const writeShare = 8
const minWriteAnswerBytes = 64 * 1024

export function answerLimitsOf({ maxAnswer: readBytes }: Settings): AnswerLimits {
  return { readBytes, writeBytes: Math.max(minWriteAnswerBytes, Math.floor(readBytes / writeShare)) }
}

/** Opens the model's database, and creates or migrates it. Commands pass no `serving`, and use no replica and no reader process. */
export async function openStore(model: Model, settings: Settings, serving?: Serving): Promise<Store> {
  const { database, databaseConnections: connections, databaseTimeout: timeoutMs } = settings
  const { cacheSize: cacheBytes, autoMigrate, rowSecurity } = settings
  const onSurplus = serving && surplusLog(serving.log)
  const cascades = { onLarge: serving && cascadeLog(serving.log), maxItems: settings.quotas.cascade }
  const queries = serving && { onSlow: logSlowList(serving.log.logger), maxScan: settings.maxScan }
  const { age: maxAgeMs, size: maxBytes } = settings['events.retention']
  const retention = { maxAgeMs, maxBytes }
  const watchdog = serving && loggedWatchdog(settings, serving.log.logger)
  const clock = serving?.now && { now: serving.now }
  const answerLimits = answerLimitsOf(settings)
  const checks = checksOf(model, settings, watchdog)
  const shared = {
    answerLimits,
    cacheBytes,
    autoMigrate,
    retention,
    onSurplus,
    cascades,
    queries,
    watchdog,
    checks,
    ...clock,
  }
  if (isPostgres(database)) {
    const { openPostgres } = await import('../../engine/store/postgres/postgres.ts')
    const replicas = serving && replicasOf(settings, serving.log)
    return openPostgres(model, { url: database, connections, replicas, timeoutMs, rowSecurity, ...shared })
  }
  refuseReplicas(settings)
  refuseRowSecurity(settings)
  const otherThreads = serving?.worker?.otherThreads
  const unsafe = serving && { onUnsafe: (cause: unknown) => endProcess(cause, serving.worker) }
  const readers = serving && readersOf(settings, serving.log)
  const checkpointListener = serving && checkpointLog(serving.log)
  return openSqlite(model, {
    file: database,
    otherThreads,
    readers,
    checkpointListener,
    ...shared,
    ...unsafe,
  })
}

/** Runs the checks of a model that read. */
export function checksOf(
  model: Model,
  settings: { readonly 'logic.limits': Pick<Settings['logic.limits'], 'action'> },
  watchdog = createWatchdog(),
): ReadingChecks {
  const limits = { ...defaultOperationLimits, timeMs: settings['logic.limits'].action }
  const guardPlan = guardPlanBy(createGuard(model), service)
  return {
    tries: limits.tries,
    limitMs: limits.timeMs,
    stepOf(collection, write) {
      const { step, returned } = checkRun({ model, watchdog, limits }, collection, write)
      return { returned, step: guardAsyncStep(step, read => guardPlan(read as ProgramPlan | PlanAs)) }
    },
  }
}

function checkpointLog({ logger }: Log): CheckpointListener {
  return {
    onFailing: cause =>
      logger.error(
        { err: cause },
        'the log of the database cannot be copied into its file, and grows: the disk fails or is full',
      ),
    onWorking: failures => logger.info({ failures }, 'the log of the database is copied into its file again'),
  }
}

/** Of all workers together, but at least one of each. They are started when they are needed. */
const maxReaders = 2

/** The reader processes of a service. Commands have none, because no request waits for their event loop. */
function readersOf({ workers, databaseTimeout: timeoutMs }: Settings, { logger }: Log) {
  const onLost = (cause: unknown) => {
    // Its read fails for the same reason, and is reported.
    if (isOutOfDescriptors(cause)) return
    const error = cause instanceof Error ? cause.message : String(cause)
    logger.error({ error }, 'a reader process has ended unexpectedly: its read is retried once')
  }
  return { count: Math.ceil(maxReaders / workers), timeoutMs, onLost }
}

/**
 * Ends the process at once, as PostgreSQL does (`data_sync_retry`): closing the file would checkpoint its WAL. The next
 * start checkpoints every page again. See `decisions/syncs-that-fail.md`.
 */
function endProcess(cause: unknown, worker: WorkerContext | undefined): void {
  const message =
    'a sync of the database file has failed after pages of its log were copied: the process ends, and the next start copies all pages again'
  const error = cause instanceof Error ? cause.message : String(cause)
  writeSync(2, `${JSON.stringify({ level: 60, time: Date.now(), error, msg: message })}\n`)
  process.kill(process.pid, 'SIGKILL')
  // Process 1 of a container ignores its own SIGKILL, and only the main thread can abort.
  worker?.abort()
  process.abort()
}

function surplusLog({ logger }: Log) {
  return (steps: readonly string[]) =>
    logger.warn(
      { steps },
      'the database has more than the model, e.g. from a newer version, or lacks an index: it stays unchanged; `portico migrate` shows the steps',
    )
}

function cascadeLog({ logger }: Log) {
  return ({ collection, itemId, removed, cleared, durationMs }: Cascade) =>
    logger.warn(
      { collection, item_id: itemId, removed, cleared, ms: Math.round(durationMs) },
      'a deletion also deleted or changed many other items: other writes waited meanwhile, and on SQLite all requests of this thread',
    )
}

function refuseReplicas({ databaseReplicas }: Settings): void {
  if (databaseReplicas === undefined) return
  const message =
    '`database` names an SQLite file, which has no replicas: omit this setting, or use PostgreSQL.'
  throw new SettingsError([{ place: '`databaseReplicas` (DATABASE_REPLICA_URLS)', message }])
}

function replicasOf({ databaseReplicas = [] }: Settings, { logger }: Log) {
  return databaseReplicas.map(url => {
    const replica = publicName(url)
    const onChange = (reason: string | undefined) =>
      reason === undefined
        ? logger.info({ replica }, 'the replica answers reads again')
        : logger.warn({ replica, reason }, 'the replica is not used: the primary answers its reads')
    return { url, onChange }
  })
}

/** The records of the store, with their secrets encrypted. */
export function openEncrypted(store: Store, settings: Settings, { logger }: Log): Promise<EncryptedRecords> {
  const { secretKeys: keys, database } = settings
  return openRecords({
    records: store.records,
    keys,
    database,
    note: sentence => logger.warn(sentence),
  })
}

/** Prepares the database, once, before several workers open it. */
export async function prepare(
  model: Model,
  settings: Settings,
  log: Log,
): Promise<FirstAdministrator | undefined> {
  const store = await openStore(model, settings)
  try {
    const records = await openEncrypted(store, settings, log)
    await registerLogic(model, store)
    return await bootstrap(createRun(createGuard(model), store), records, settings)
  } finally {
    await store.close()
  }
}

/** Stores where new reactions and jobs begin. `now`: for tests. */
export function registerLogic(model: Model, store: Store, now: () => EpochMs = Date.now): Promise<void> {
  return registerRuns(model, { records: store.records, log: store.changes, now: now() })
}

/** Encrypts the secrets of a record change. */
type Encrypt = (change: RecordChange) => RecordChange

/** Runs guarded plans: the store, or a wrapper that measures it. */
export type PlanRunner = Pick<Store, 'read' | 'composite' | 'write' | 'transaction'>

/** Guards plans, then runs them. `encrypt`: for the records of transactions. */
export function createRun(guard: Guard, store: PlanRunner, encrypt: Encrypt = change => change): Run {
  const transaction: Run['transaction'] = async program =>
    store.transaction(guardProgram(guard, encrypt, program))
  return {
    item: (plan, principal) => store.read(guard(plan, principal)) as Awaitable<ItemAnswer>,
    list: (plan, principal) => store.read(guard(plan, principal)) as Awaitable<ListAnswer>,
    aggregate: (plan, principal) => store.read(guard(plan, principal)) as Awaitable<ListAnswer>,
    composite: (plan, principal) => store.composite(guard(plan, principal)),
    refusals: (plan, principal) => guard(plan, principal).shape.refusals,
    write: async (plan, principal, within) => {
      if (within === undefined) return store.write(guard(plan, principal))
      // In its own transaction: other writes must not wait while it waits for the same key on another node.
      return transaction({ serial: {}, principal, steps: () => within(plan) })
    },
    transaction,
  }
}

/** The program, which guards each plan when it is yielded. */
function guardProgram<T>(
  guard: Guard,
  encrypt: Encrypt,
  { principal, steps, ...options }: Program<T>,
): GuardedProgram<T> {
  const guardPlan = guardPlanBy(guard, principal)
  const guardStep = (step: InnerStep<ProgramPlan | PlanAs>) => {
    if (!('kind' in step) || step.kind === 'planAs') return guardPlan(step)
    if (step.kind === 'independentWrites') return { ...step, writes: guardAll(step, guardPlan) }
    return step.kind === 'emission' ? step : encrypt(step)
  }
  const guardProgramStep = (step: ProgramStep) =>
    'kind' in step && step.kind === 'asyncStep' ? guardAsyncStep(step, guardStep) : guardStep(step)
  return {
    ...options,
    *steps() {
      const program = steps()
      let step = program.next()
      while (!step.done) {
        const { value } = step
        let answer: StepAnswer
        try {
          answer = yield guardProgramStep(value)
        } catch (failure) {
          program.throw(failure)
          throw failure
        }
        step = program.next(answer)
      }
      return step.value
    },
  }
}

function guardPlanBy(guard: Guard, principal: Principal) {
  return (plan: ProgramPlan | PlanAs) => ('kind' in plan ? guard(plan.plan, plan.as) : guard(plan, principal))
}

function guardAsyncStep<P, G>(
  { start, ...options }: AsyncStep<P>,
  guardStep: (step: InnerStep<P>) => InnerStep<G>,
): AsyncStep<G> {
  return { ...options, start: run => start(step => run(guardStep(step))) }
}

function guardAll<P, G>(
  { writes, onFailure }: IndependentWrites<P>,
  guardPlan: (plan: P) => G,
): readonly G[] {
  return writes.map((plan, index) => {
    try {
      return guardPlan(plan)
    } catch (error) {
      onFailure(index)
      throw error
    }
  })
}
