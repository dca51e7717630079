import type { GuardedAggregate, GuardedList } from '../../plan/guarded.ts'
import { aggregateSql } from './aggregate.ts'
import type { RelatedForm } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { positionSql } from './read.ts'
import { arg, type Sql } from './writer.ts'

/** The statement whose query plan shows which rows a list or an aggregate visits. It omits the selection of a list. */
export function explainedSql(
  { list, aggregate }: { readonly list: GuardedList; readonly aggregate?: GuardedAggregate },
  dialect: Dialect,
  related?: RelatedForm,
): Sql {
  if (aggregate !== undefined) return aggregateSql(aggregate, dialect, related)
  const { window } = list
  const offset = window.kind === 'page' ? arg(window.offset) : undefined
  const limit = dialect.limit(arg(window.limit))
  const slice = { after: undefined, limit, offset, keys: false }
  return positionSql(list, related === undefined ? slice : { ...slice, related }, dialect)
}
