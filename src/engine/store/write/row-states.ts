/** What the event log stores of a row: its text, and the facts about it. */
import type { Collection, Model } from '../../../model/model.ts'
import { type Fact, factsOf } from '../../plan/guard/facts.ts'
import { memoised } from '../memoised.ts'
import { factsSql } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { eventSql, rowSql } from '../sql/write.ts'
import { type Sql, slot } from '../sql/writer.ts'
import { type ResultRow, type SqlValue, slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { StepQuery, WriteScope } from './steps.ts'

export interface RowState {
  readonly data: SqlValue
  readonly facts: SqlValue
}

/** The facts that the log keeps of a collection's rows; none if it keeps no row. */
export function loggedFacts(collection: Collection, model: Model): readonly Fact[] {
  return collection.unlogged ? [] : factsOf(model, collection)
}

/** The outputs for the event, which `stateAt` reads. */
export function stateSql(collection: Collection, model: Model, row: RowAlias): readonly [Sql, Sql] {
  return [eventSql(collection, row), factsSql(loggedFacts(collection, model), row)]
}

/** The state from two outputs, the first of them at `index`. */
export function stateAt(outputs: ResultRow | undefined, index: number): RowState {
  return { data: outputs?.[index] ?? null, facts: outputs?.[index + 1] ?? null }
}

/** Reads the states of stored rows. */
export class RowStates<S> {
  readonly #model: Model
  readonly #statementOf: (collection: Collection) => S

  constructor({ model, dialect, prepare }: WriteDatabase<S>) {
    this.#model = model
    this.#statementOf = memoised(collection => {
      const row = new RowAlias(dialect, collection.name)
      return prepare(rowSql(row, slot(0), stateSql(collection, model, row))) as S & object
    }) as (collection: Collection) => S
  }

  hasFacts(collection: Collection): boolean {
    return loggedFacts(collection, this.#model).length > 0
  }

  query(collection: Collection, id: number, { now }: WriteScope<S>): StepQuery<S> {
    return { statement: this.#statementOf(collection), inputs: { ...slotInputs([id]), now } }
  }
}
