/** Reactions and jobs as the service runs them. */

import type { Watchdog } from '../../../base/watchdog/watchdog.ts'
import { Outgoing } from '../../../delivery/outgoing/outgoing.ts'
import { Runner, type RunnerParts } from '../../../delivery/runs/runner.ts'
import type { DataParts } from '../../../engine/logic/data/create-data.ts'
import type { OperationLimits } from '../../../engine/logic/operations/call.ts'
import { type LogicRun, placeOf } from '../../../engine/logic/run.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Mail } from '../../../identity/mail/mail.ts'
import type { Model } from '../../../model/model.ts'
import type { LogicLog, LogicMail } from '../../../model/types/run.ts'
import type { Settings } from '../../config/config.ts'
import type { Logger } from '../../observability/log.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'
import type { LostUpdates } from '../monitoring/lost-updates.ts'

export interface ReactionParts {
  readonly model: Model
  readonly store: Store
  /** Runs plans with the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: DataParts['hooks']
  readonly mail: Pick<Mail, 'send'>
  readonly settings: Settings
  readonly logger: Logger
  readonly faults: Pick<FaultLog, 'report'>
  readonly lostUpdates: LostUpdates
  readonly watchdog: Watchdog
  /** Of one transaction. */
  readonly limits: OperationLimits
  readonly clock: RunnerParts['clock']
}

export interface RunningReactions {
  readonly runner: Runner
  start(): void
  /** Stops them, so that another node can take over. */
  close(): Promise<void>
}

const maxConnectionsPerHost = 8

/** Separately for quick and for slow reactions and jobs. One of them can have at most half of the runs. */
const maxConcurrentRuns = 16

export function openReactions(parts: ReactionParts): RunningReactions {
  const { settings } = parts
  const outgoing = new Outgoing({ allowPrivate: settings['reactions.allowPrivate'], maxConnectionsPerHost })
  const runner = new Runner({ ...runnerParts(parts), outgoing })
  return {
    runner,
    start: () => runner.start(),
    async close() {
      await runner.stop()
      await outgoing.close()
    },
  }
}

function runnerParts(parts: ReactionParts): Omit<RunnerParts, 'outgoing'> {
  const { model, store, run, hooks, mail, settings, logger, faults, watchdog, limits, clock } = parts
  const { lostUpdates } = parts
  return {
    ...{ model, run, hooks, clock, watchdog, limits },
    mail: checkedMail(mail),
    records: store.records,
    log: store.changes,
    refresh: () => store.refresh(),
    logOf: logicRun => logOf(logger, logicRun),
    onLostUpdate: (run, update) => lostUpdates.report(placeOf(run), update),
    concurrency: maxConcurrentRuns,
    timeoutMs: settings['reactions.timeout'],
    elapsed: () => performance.now(),
    random: Math.random,
    hold: event => store.changes.hold('reactions', event),
    ...logReports(logger),
    onFault: error => faults.report(error, 'running reactions and jobs failed'),
  }
}

function logReports(logger: Logger) {
  return {
    onFailed(
      { kind, name, id, attempts }: LogicRun,
      error: string,
      retryAt: number | undefined,
      thrown?: unknown,
    ) {
      const cause = thrown instanceof Error ? { err: thrown } : {}
      const fields = { [kind]: name, run: id, attempts, error, ...cause }
      if (retryAt !== undefined) {
        logger.warn({ ...fields, again_at: new Date(retryAt).toISOString() }, `a ${kind} has failed`)
      } else logger.error(fields, `a ${kind} was given up: it is a dead letter (\`portico reactions list\`)`)
    },
    onGap: (reaction: string, from: number, to: number) =>
      logger.error(
        { reaction, from, to },
        'RESYNC_REQUIRED: events were pruned before a reaction had read them (`size` of `events.retention`): the reaction continues after them',
      ),
    onMissed: (job: string, from: number, to: number) =>
      logger.warn(
        { job, from: new Date(from).toISOString(), to: new Date(to).toISOString() },
        'due times of a job were missed: the job runs once for all of them',
      ),
    onUnknown: (name: string) =>
      logger.warn(
        { reaction: name },
        'a reaction is no longer in the model: its position in the log is kept (`portico reactions skip NAME` removes it)',
      ),
  }
}

function logOf(logger: Logger, { kind, name, id, attempts }: LogicRun): LogicLog {
  const runFields = { [kind]: name, run: id, attempt: attempts + 1 }
  const line = (level: keyof LogicLog) => (message: string, fields?: object) =>
    logger[level]({ ...fields, ...runFields }, String(message))
  return Object.freeze({
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  })
}

/** Refuses messages that a mail server would misread, e.g. with line breaks in a header. */
function checkedMail(mail: Pick<Mail, 'send'>): LogicMail {
  return {
    async send(message) {
      const { to, subject, text, html } = Object(message)
      for (const [name, value] of Object.entries({ to, subject, text })) {
        if (typeof value !== 'string' || value === '')
          throw new TypeError(`mail.send: \`${name}\` must be a non-empty string.`)
      }
      if (/[\r\n]/.test(to + subject)) {
        throw new TypeError('mail.send: `to` and `subject` must be a single line.')
      }
      await mail.send({ to, subject, text, ...(typeof html === 'string' ? { html } : {}) })
    },
  }
}
