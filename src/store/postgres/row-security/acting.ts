/** Sets on whose behalf a statement runs, if that differs from the statement before. In the same round trip. */
import { join, quoted, slot, sql } from '../../sql/writer.ts'
import type { Actor } from '../../values.ts'
import { type Outcome, type Query, statementOf } from '../connections/statement.ts'
import { nobody, settings } from './security.ts'

const act = statementOf(
  sql`SELECT ${join(
    settings.map((name, at) => sql`set_config(${quoted(name)}, ${slot(at)}, true)`),
    ', ',
  )}`,
)

function isSame(actor: Actor, other: Actor): boolean {
  return actor === other || actor.every((value, at) => value === other[at])
}

/**
 * The queries with the necessary settings between them. Settings from before a batch are not relied on: they may have been
 * rolled back.
 */
export function withActors(queries: readonly Query[]): readonly Query[] {
  const all: Query[] = []
  let current: Actor | undefined
  for (const query of queries) {
    const { actor = nobody, statement } = query
    if (statement.isControl) current = undefined
    else if (current === undefined || !isSame(actor, current)) {
      all.push({ statement: act, values: actor })
      current = actor
    }
    all.push(query)
  }
  return all
}

/** The outcome of the queries alone. */
export function withoutActors(outcome: Outcome, sent: readonly Query[]): Outcome {
  const isAsked = (_: unknown, at: number) => sent[at]?.statement !== act
  return { ...outcome, done: outcome.done.filter(isAsked), tags: outcome.tags.filter(isAsked) }
}
