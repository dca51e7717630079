/** Reads in a reader process: the same statements as on the event loop, in one transaction. */
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

/** Its queries may see commits that came after the versions were read: then this connection sees them as well. */
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

/** Compiled when it is first needed. */
function querier(fragment: Sql): Querier {
  const { text, binds } = compile(fragment, sqlite.sign)
  return inputs => ({ sql: text, values: binds.map(bind => bound(bind, inputs)) })
}

/** A list's statement in the form that suits the sizes of the collections at the time. */
function listQuerier(
  shape: WholeList,
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
  build: (related: RelatedForm) => Sql,
): Querier {
  const queriers = new Map<RelatedForm, Querier>()
  return inputs => {
    const form = relatedForm(shape, context)
    const known = queriers.get(form) ?? querier(build(form))
    queriers.set(form, known)
    return known(inputs)
  }
}
