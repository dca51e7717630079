/** Reads on SQLite: on the event loop, or in a reader process if they may be slow. */
import type { Principal } from '../../../principal.ts'
import type { Answer, Answers, GuardedReadShape } from '../../read/answers.ts'
import type { ReadDatabase, RunRead } from '../../read/database.ts'
import { type AnswerQuery, ReadsByCaller, type ReadsInFlight } from '../../read/in-flight.ts'
import { type ListCache, type ListCacheOptions, listCacheOf } from '../../read/list-cache.ts'
import { type ShapeRun, shapeRun } from '../../read/shape-run.ts'
import type { Inputs } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import type { ReaderPool } from '../reader-processes/pool.ts'
import type { ReadBudget } from './budget.ts'
import { inlineSnapshot, inlineStatements } from './inline.ts'
import type { InlineContext } from './inline-statement.ts'
import { pooledSnapshot, pooledStatements } from './pooled.ts'
import { plannedRoute, ShapeRoute } from './route.ts'

/** Where slow reads run. */
export interface SlowReads {
  readonly pool: Pick<ReaderPool, 'run'>
  readonly budget: ReadBudget
}

export interface SqliteReadsParts extends InlineContext {
  readonly answers: Answers
  readonly lists: ListCacheOptions
  readonly slow?: SlowReads | undefined
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

export class SqliteReads implements ReadDatabase {
  readonly answers: Answers
  readonly versions: Versions
  readonly isPersonal = false
  readonly #parts: SqliteReadsParts

  constructor(parts: SqliteReadsParts) {
    this.#parts = parts
    this.answers = parts.answers
    this.versions = parts.lists.versions
  }

  readsInFlight(): ReadsInFlight {
    return new ReadsByCaller()
  }

  hold(): void {
    this.#parts.connection.hold()
  }

  now(): number {
    return this.#parts.now()
  }

  actor(): undefined {}

  runOf(shape: GuardedReadShape): RunRead {
    const { lists: memory, slow } = this.#parts
    const isPaged = shape.kind === 'list' && shape.window.kind === 'page'
    const lists = isPaged ? listCacheOf(shape, shape.window, memory) : undefined
    const inline = inlineRun(shapeRun(shape, inlineStatements(this.#parts, false), lists))
    if (slow === undefined) return inline
    const route = new ShapeRoute(shape, plannedRoute(shape, this.#parts), !slow.budget.isZero)
    return route.canBeSlow(isPaged) ? routedRun(shape, this.#parts, { slow, lists, inline, route }) : inline
  }
}

type SyncRead = (inputs: Inputs) => Answer

/** Synchronous, because the snapshot is. */
function inlineRun(run: ShapeRun<Parameters<typeof inlineSnapshot.row>[0]>): SyncRead {
  return inputs => run(inputs, inlineSnapshot) as Answer
}

interface RoutedRunParts {
  readonly slow: SlowReads
  readonly lists: ListCache | undefined
  readonly inline: SyncRead
  readonly route: ShapeRoute
}

/** For a shape some of whose reads may be slow. */
function routedRun(
  shape: GuardedReadShape,
  parts: SqliteReadsParts,
  { slow, lists, inline, route }: RoutedRunParts,
): RunRead {
  const { budget, pool } = slow
  let budgeted: SyncRead | undefined
  const pooled = shapeRun(shape, pooledStatements(parts), lists)
  const runInPool =
    (inputs: Inputs, { budgetKey }: Principal): AnswerQuery =>
    async ({ signal }) => {
      const snapshot = pooledSnapshot(async queries => {
        const { results, ms } = await pool.run(budgetKey, queries, signal)
        route.recordPoolRead(ms)
        return results
      }, parts.connection)
      return pooled(inputs, snapshot)
    }
  return (inputs, principal) => {
    // Portico's own reads are by keys.
    if (principal.access.system) return inline(inputs)
    const destination = route.choose(inputs, lists?.skipped(inputs) ?? 0)
    if (destination === 'inline') return inline(inputs)
    if (destination === 'pool') return runInPool(inputs, principal)
    budgeted ??= inlineRun(shapeRun(shape, inlineStatements(parts, true), lists))
    const run = budgeted
    const answer = budget.run(() => run(inputs))
    if (answer !== undefined) return answer
    route.recordOverrun()
    return runInPool(inputs, principal)
  }
}
