/** Reads in a reader process, in one transaction, by the same statements as on the event loop. */
import { type Ask, batched } from '../../read/batched.ts'
import type { Snapshot, Statements, WholeList } from '../../read/database.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import { listSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { compile, type Sql } from '../../sql/writer.ts'
import { bound, type Inputs } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { ReaderQuery } from '../reader-processes/messages.ts'
import type { InlineContext } from './inline-statement.ts'
import { relatedForm } from './related-rows.ts'
import { totalSql } from './totals.ts'

type Querier = (inputs: Inputs) => ReaderQuery

export function pooledStatements(
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
): Statements<ReaderQuery> {
  const ofList = (list: WholeList, build: (form: RelatedForm) => Sql) => listQuerier(list, context, build)
  return {
    prepare: build => querier(build(sqlite)),
    slice: (list, slice) => ofList(list, related => listSql(list, { ...slice(sqlite), related }, sqlite)),
    count: (list, build) => ofList(list, related => build(list, sqlite, related)),
    whole: collection => {
      const total = querier(totalSql)
      return inputs => total({ ...inputs, slots: [collection] })
    },
  }
}

/** Its queries may see commits after the versions were read. `look` makes the versions count those commits. */
export function pooledSnapshot(
  ask: Ask<ReaderQuery>,
  connection: Pick<Connection, 'look'>,
): Snapshot<ReaderQuery> {
  return batched(ask, {
    isNewer(_, isCurrent) {
      connection.look()
      return !isCurrent()
    },
  })
}

function querier(fragment: Sql): Querier {
  const { text, binds } = compile(fragment, sqlite.sign)
  return inputs => ({ sql: text, values: binds.map(bind => bound(bind, inputs)) })
}

/** The statement of a list, in the form that suits the current sizes of the collections. */
function listQuerier(
  shape: WholeList,
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
  build: (related: RelatedForm) => Sql,
): Querier {
  const queriers = new Map<RelatedForm, Querier>()
  return inputs => {
    const form = relatedForm(shape, context)
    const queryOf = queriers.get(form) ?? querier(build(form))
    queriers.set(form, queryOf)
    return queryOf(inputs)
  }
}
