/** Sets on whose behalf a statement runs, in the same round trip, if that differs from the previous statement. */
import { join, slot, sql, textLiteral } from '../../sql/writer.ts'
import type { Actor } from '../../values.ts'
import { type BoundStatement, type PipelineResult, statementOf } from '../connections/statement.ts'
import { noActor, settings } from './security.ts'

const setActor = statementOf(
  sql`SELECT ${join(
    settings.map((name, index) => sql`set_config(${textLiteral(name)}, ${slot(index)}, true)`),
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
export function withActors(queries: readonly BoundStatement[]): readonly BoundStatement[] {
  const result: BoundStatement[] = []
  let current: Actor | undefined
  for (const query of queries) {
    const { actor = noActor, statement } = query
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
export function withoutActors(outcome: PipelineResult, sent: readonly BoundStatement[]): PipelineResult {
  const isRequested = (_: unknown, index: number) => sent[index]?.statement !== setActor
  return { ...outcome, results: outcome.results.filter(isRequested), tags: outcome.tags.filter(isRequested) }
}
