/** The functions that declare actions, queries, reactions and jobs. `checkModel` checks what they return. */
import type {
  ActionDeclaration,
  ActionOptions,
  JobDeclaration,
  QueryDeclaration,
  QueryOptions,
  ReactionDeclaration,
} from './logic.ts'

/** A named operation over several items, in one serialisable transaction. */
export function action<const O extends ActionOptions>(options: O): ActionDeclaration<O> {
  return Object.freeze({ kind: 'action', options })
}

/** A named operation that only reads, in one serialisable transaction. */
export function query<const O extends QueryOptions>(options: O): QueryDeclaration<O> {
  return Object.freeze({ kind: 'query', options })
}

type Run = ReactionDeclaration['run']

interface Described {
  readonly description?: string
}

/** Runs after the commit of each event of these types, at least once and in the order of one item. */
export function on(
  types: string | readonly string[],
  run: Run,
  options: Described = {},
): ReactionDeclaration {
  return Object.freeze({
    kind: 'reaction',
    types: typeof types === 'string' ? [types] : types,
    run,
    description: options.description,
  })
}

interface EveryOptions extends Described {
  /** An IANA name, e.g. `Europe/Berlin`; `UTC` if left out. */
  readonly timeZone?: string
}

/** A job that runs by a schedule: a cron expression, or words such as `day at 03:00`. */
export function every(schedule: string, run: Run): JobDeclaration
export function every(schedule: string, options: EveryOptions, run: Run): JobDeclaration
export function every(schedule: string, second: EveryOptions | Run, third?: Run): JobDeclaration {
  const [options, run] = typeof second === 'function' ? [{}, second] : [second ?? {}, third]
  return Object.freeze({
    kind: 'job',
    schedule,
    timeZone: options.timeZone,
    input: undefined,
    run: run as Run,
    description: options.description,
  })
}

interface JobOptions extends Described {
  readonly input?: JobDeclaration['input']
  readonly run: Run
}

/** A job that only `later` starts. */
export function job(options: JobOptions): JobDeclaration {
  const { input, run, description } = options ?? {}
  return Object.freeze({
    kind: 'job',
    schedule: undefined,
    timeZone: undefined,
    input,
    run,
    description,
  })
}
