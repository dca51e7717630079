/** One attempt to run a reaction or a job, with a time limit. Once the attempt has ended, its code has no further effects. */

import { service } from '../../base/principal.ts'
import { idempotencyKeyOf, type LogicRun, placeOf } from '../../engine/logic/run.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'
import type { Model } from '../../model/model.ts'
import type { LogicLog } from '../../model/types/run.ts'
import { afterAtMost } from '../consumer/timetable.ts'
import { type CodeParts, CodeRun } from './code.ts'
import type { CodeTools, RunContext } from './context.ts'
import { logicEventOf } from './reactions/event.ts'

export interface RunAttemptParts extends CodeParts {
  readonly logOf: (run: LogicRun) => LogicLog
  /** The maximum duration of an attempt. */
  readonly timeoutMs: number
}

export type RunOutcome =
  /** `startedJobs`: the steps that store the runs of jobs that the attempt has started. */
  | { readonly kind: 'succeeded'; readonly startedJobs: readonly RecordChange[] }
  /** `thrown`: what the model's code threw; undefined if Portico ended the attempt. */
  | { readonly kind: 'failed'; readonly error: string; readonly thrown?: unknown }
  /** The node stops or has lost the lease. The attempt is not counted. */
  | { readonly kind: 'interrupted' }

const maxErrorCharacters = 2000

class Interrupted extends Error {}

/** Runs until the handler ends, the time is up, or `interrupt` is aborted. Never rejects. */
export async function attemptRun(
  parts: RunAttemptParts,
  run: LogicRun,
  interrupt: AbortSignal,
): Promise<RunOutcome> {
  const { model, logOf } = parts
  const code = new CodeRun(parts, {
    place: placeOf(run),
    principal: { ...service, depth: run.depth + 1 },
    log: logOf(run),
    ownKey: idempotencyKeyOf(run),
  })
  const cancel = afterAtMost(parts.clock, parts.timeoutMs, () => {
    code.end(new Error(`It took longer than ${parts.timeoutMs / 1000} s (\`reactions.timeout\`).`))
  })
  const onInterrupt = () => code.end(new Interrupted('The node stops.'))
  interrupt.addEventListener('abort', onInterrupt, { once: true })
  if (interrupt.aborted) onInterrupt()
  try {
    const context = Object.freeze(contextOf(model, run, code.tools))
    await code.run(() => handlerOf(model, run)?.(context)).finally(() => code.close())
    return { kind: 'succeeded', startedJobs: code.startedJobs }
  } catch (error) {
    if (error instanceof Interrupted) return { kind: 'interrupted' }
    return { kind: 'failed', error: errorText(error), ...(code.isEndedBy(error) ? {} : { thrown: error }) }
  } finally {
    cancel()
    interrupt.removeEventListener('abort', onInterrupt)
  }
}

/** The error, for the operator. */
function errorText(error: unknown): string {
  return describe(error).replaceAll('\0', '').slice(0, maxErrorCharacters)
}

/** The name, the message or the conversion to text may throw. */
function describe(thrown: unknown): string {
  try {
    return thrown instanceof Error
      ? `${thrown.name}: ${thrown.message}`
      : `Thrown: ${JSON.stringify(thrown) ?? String(thrown)}`
  } catch {
    return `Thrown: ${typeof thrown}`
  }
}

function handlerOf({ logic }: Model, { kind, name }: LogicRun) {
  const handlers = kind === 'reaction' ? logic.reactions : logic.jobs
  return handlers.get(name)?.run as ((context: unknown) => unknown) | undefined
}

function contextOf(model: Model, run: LogicRun, tools: CodeTools): object {
  const context: RunContext = {
    ...tools,
    idempotencyKey: idempotencyKeyOf(run),
    attempt: run.attempts + 1,
  }
  return run.kind === 'job'
    ? { ...context, input: run.input, scheduledFor: run.scheduledFor }
    : { ...context, event: logicEventOf(model, run.change) }
}
