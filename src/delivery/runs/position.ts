/** The records of the lease and of all positions. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { RecordKey } from '../../base/records.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'

const kind = 'Logic'
export const leaseKey: RecordKey = { kind, id: 'lease' }
export const positionKey: RecordKey = { kind, id: 'position' }

/** The position of a scheduled job. */
export interface PlannedJob {
  /** If either changes, the schedule restarts from the present. */
  readonly schedule: string
  readonly timeZone: string
  /** Due times up to this one have become runs. */
  readonly until: EpochMs
}

export type PlannedJobs = Readonly<Record<string, PlannedJob>>

/** The payload of the record of positions. */
export interface RunnerPosition {
  /** The event up to which all are done or stored as records, by reaction. */
  readonly reactions: Readonly<Record<string, number>>
  /** The events after it that are done, by reaction; only reactions that have some. */
  readonly doneAhead?: Readonly<Record<string, readonly number[]>>
  readonly jobs: PlannedJobs
}

/** The position of one reaction. */
export interface ReactionPosition {
  readonly position: number
  readonly doneAhead: readonly number[]
}

/** Undefined for a reaction that has no position yet. */
export function reactionPosition(stored: RunnerPosition, name: string): ReactionPosition | undefined {
  const { reactions, doneAhead = {} } = stored
  const position = Object.hasOwn(reactions, name) ? reactions[name] : undefined
  if (position === undefined) return undefined
  return { position, doneAhead: (Object.hasOwn(doneAhead, name) ? doneAhead[name] : undefined) ?? [] }
}

/** Keeps the positions of reactions that this node does not have: another node's model may have them. */
export function nextPosition(
  { reactions, doneAhead = {} }: RunnerPosition,
  progress: readonly (ReactionPosition & { readonly name: string })[],
  jobs: PlannedJobs,
): RunnerPosition {
  const positions = Object.fromEntries(progress.map(({ name, position }) => [name, position]))
  const done = Object.fromEntries(progress.map(({ name, doneAhead: events }) => [name, events]))
  return {
    reactions: { ...reactions, ...positions },
    doneAhead: withoutEmpty({ ...doneAhead, ...done }),
    jobs,
  }
}

/** Without the reactions and jobs of these names. */
export function withoutNames(position: RunnerPosition, names: ReadonlySet<string>): RunnerPosition {
  const { reactions, doneAhead = {}, jobs } = position
  const keep = <T>(record: Readonly<Record<string, T>>) => filtered(record, name => !names.has(name))
  return { reactions: keep(reactions), doneAhead: keep(doneAhead), jobs: keep(jobs) }
}

function withoutEmpty(lists: Readonly<Record<string, readonly number[]>>) {
  return filtered(lists, (_, list) => list.length > 0)
}

function filtered<T>(record: Readonly<Record<string, T>>, isKept: (name: string, value: T) => boolean) {
  return Object.fromEntries(Object.entries(record).filter(([name, value]) => isKept(name, value)))
}

/** Steps of a transaction, and a callback for its commit. */
export type PushArguments = [steps: readonly RecordChange[], committed?: () => void]
