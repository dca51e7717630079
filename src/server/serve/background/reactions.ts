/** Reactions and jobs as the service runs them. */

import type { CodeParts } from '../../../delivery/runs/code.ts'
import { Runner, type RunnerParts } from '../../../delivery/runs/runner.ts'
import type { LogicRun } from '../../../engine/logic/run.ts'
import type { Logger } from '../../observability/log.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'
import { logWith, openCode, type ServiceCodeParts } from './code.ts'

export interface ReactionParts extends ServiceCodeParts {
  readonly faults: Pick<FaultLog, 'report'>
}

export interface RunningReactions {
  readonly runner: Runner
  start(): void
  /** Stops them, so that another node can take over. */
  close(): Promise<void>
}

/** Separately for quick and for slow reactions and jobs. One of them can have at most half of the runs. */
const maxConcurrentRuns = 16

export function openReactions(parts: ReactionParts): RunningReactions {
  const { close, ...code } = openCode(parts)
  const runner = new Runner(runnerParts(parts, code))
  return {
    runner,
    start: () => runner.start(),
    async close() {
      await runner.stop()
      await close()
    },
  }
}

function runnerParts(parts: ReactionParts, code: CodeParts): RunnerParts {
  const { store, settings, logger, faults } = parts
  return {
    ...code,
    records: store.records,
    log: store.changes,
    logOf: ({ kind, name, id, attempts }) =>
      logWith(logger, { [kind]: name, run: id, attempt: attempts + 1 }),
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
