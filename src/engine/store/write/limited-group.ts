/** The check of one limit, and the group of items that it applies to. */
import type { Collection, Field } from '../../../model/model.ts'
import type { GuardedLimit } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import { type Sql, slot, sql, textLiteral } from '../sql/writer.ts'
import type { Inputs, ResultRows } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { QuerySteps } from './steps.ts'

export interface LimitCheck<S> {
  /** Whether it depends on more than the group in which the row counts. */
  readonly concernsAllChanges: boolean
  /** Over the row with the id in the first slot, which counted in the group of the second one. They lock the group. */
  readonly statements: readonly (S | undefined)[]
  /** Throws if the answers to the statements show that the limit is exceeded. `changed`: omitted for a new row. */
  require(answers: readonly ResultRows[], caller: Inputs, changed?: readonly Field[]): QuerySteps<S, void>
}

/** The conditions under which the row with the id in the first slot counts. */
export function countingConditions({ per, where }: GuardedLimit, row: RowAlias): readonly Sql[] {
  const conditions = [sql`${row.column('id')} = ${slot(0)}`, conditionSql(where, row)]
  return per === undefined ? conditions : [...conditions, sql`${row.column(per.name)} IS NOT NULL`]
}

/** An expression that locks the group with this value of `per` until the transaction ends. */
export function groupLock(
  { name }: Collection,
  per: Field | undefined,
  value: Sql | undefined,
  { locksGroup }: Pick<WriteDatabase<unknown>, 'locksGroup'>,
): Sql {
  return locksGroup?.(textLiteral(`${name} ${per?.name ?? ''} `), value) ?? sql`1`
}
