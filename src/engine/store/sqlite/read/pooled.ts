/** Reads in a reader process, in one transaction, by the same statements as on the event loop. */
import { batched, type RunQueries } from '../../read/batched.ts'
import type { Snapshot, Statements, WholeList } from '../../read/database.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import { listSql } from '../../sql/read.ts'
import { exactSqlite as sqlite } from '../../sql/sqlite.ts'
import { compile, type Sql } from '../../sql/writer.ts'
import { type Inputs, parameterValue } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { ReaderQuery } from '../reader-processes/messages.ts'
import type { InlineContext } from './inline-statement.ts'
import { relatedForm } from './related-rows.ts'
import { totalSql } from './totals.ts'

type BuildQuery = (inputs: Inputs) => ReaderQuery

export function pooledStatements(
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
): Statements<ReaderQuery> {
  const listStatement = (list: WholeList, build: (form: RelatedForm) => Sql) =>
    listQueryBuilder(list, context, build)
  return {
    prepare: build => queryBuilder(build(sqlite)),
    slice: (list, slice) =>
      listStatement(list, related => listSql(list, { ...slice(sqlite), related }, sqlite)),
    count: (list, build) => listStatement(list, related => build(list, sqlite, related)),
    whole: collection => {
      const total = queryBuilder(totalSql)
      return inputs => total({ ...inputs, slots: [collection] })
    },
  }
}

/** Its queries may see later commits than the versions count. `renewSnapshot` makes the versions count them. */
export function pooledSnapshot(
  run: RunQueries<ReaderQuery>,
  connection: Pick<Connection, 'renewSnapshot'>,
): Snapshot<ReaderQuery> {
  return batched(run, {
    isNewer(_, isCurrent) {
      connection.renewSnapshot()
      return !isCurrent()
    },
  })
}

function queryBuilder(fragment: Sql): BuildQuery {
  const { text, binds } = compile(fragment, sqlite.sign)
  return inputs => ({ sql: text, values: binds.map(bind => parameterValue(bind, inputs)) })
}

/** The statement of a list, in the form that suits the current sizes of the collections. */
function listQueryBuilder(
  shape: WholeList,
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
  build: (related: RelatedForm) => Sql,
): BuildQuery {
  const builders = new Map<RelatedForm, BuildQuery>()
  return inputs => {
    const form = relatedForm(shape, context)
    const buildQuery = builders.get(form) ?? queryBuilder(build(form))
    builders.set(form, buildQuery)
    return buildQuery(inputs)
  }
}
