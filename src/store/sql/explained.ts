import type { GuardedAggregate, GuardedList } from '../../plan/guarded.ts'
import { aggregateSql } from './aggregate.ts'
import type { RelatedForm } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { positionSql } from './read.ts'
import { arg, type Sql } from './writer.ts'

/** The statement whose plan tells what a list, or an aggregate, looks at: without what is selected of a list's rows. */
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
