/** Sets on whose behalf a statement runs, in the same round trip, if that differs from the previous statement. */
import { join, quoted, slot, sql } from '../../sql/writer.ts'
import type { Actor } from '../../values.ts'
import { type Outcome, type Query, statementOf } from '../connections/statement.ts'
import { nobody, settings } from './security.ts'

const setActor = statementOf(
  sql`SELECT ${join(
    settings.map((name, index) => sql`set_config(${quoted(name)}, ${slot(index)}, true)`),
    ', ',
  )}`,
)

function isSame(actor: Actor, other: Actor): boolean {
  return actor === other || actor.every((value, index) => value === other[index])
}

/**
 * The queries with the necessary settings between them. Settings from before a batch are set again: they may have been
 * rolled back.
 */
export function withActors(queries: readonly Query[]): readonly Query[] {
  const result: Query[] = []
  let current: Actor | undefined
  for (const query of queries) {
    const { actor = nobody, statement } = query
    if (statement.isControl) current = undefined
    else if (current === undefined || !isSame(actor, current)) {
      result.push({ statement: setActor, values: actor })
      current = actor
    }
    result.push(query)
  }
  return result
}

/** The outcome of the queries alone. */
export function withoutActors(outcome: Outcome, sent: readonly Query[]): Outcome {
  const isRequested = (_: unknown, index: number) => sent[index]?.statement !== setActor
  return { ...outcome, results: outcome.results.filter(isRequested), tags: outcome.tags.filter(isRequested) }
}
