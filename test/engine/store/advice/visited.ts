/** The number of rows that a list's statement visits, as counted by the database. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import type { ListUnit } from '../../../../src/engine/store/advice/units.ts'
import { statementOf } from '../../../../src/engine/store/postgres/connections/statement.ts'
import type { Dialect } from '../../../../src/engine/store/sql/dialect.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { positionSql } from '../../../../src/engine/store/sql/read.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { arg, compile, type Sql, sql } from '../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../src/engine/store/sqlite/read/answer-size.ts'
import { parameterValue } from '../../../../src/engine/store/values.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { query } from '../../../setups/databases/postgres.ts'
import type { TestDatabase } from '../databases.ts'

/** Runs as user 1. `args`: those of the read, plus one for the id of a parent. */
export function visitedRows(
  { url }: TestDatabase,
  { list }: ListUnit,
  args: readonly JsonValue[],
): Promise<number> | number {
  const inputs = { args, userId: 1, slots: [] }
  return url.startsWith('postgres') ? byPostgres(url, list, inputs) : bySqlite(url, list, inputs)
}

type Inputs = Parameters<typeof parameterValue>[1]

function positionOf(list: GuardedList, dialect: Dialect): Sql {
  const { window } = list
  const offset = window.kind === 'page' ? arg(window.offset) : undefined
  const limit = dialect.limit(arg(window.limit))
  return positionSql(list, { after: undefined, limit, offset, keys: false }, dialect)
}

/** SQLite calls a function in the first condition once for each row that the rest of the plan finds. */
function bySqlite(file: string, list: GuardedList, inputs: Inputs): number {
  const database = new DatabaseSync(file)
  // The statements count the bytes of their answers.
  new AnswerSize(database)
  let visited = 0
  database.function('visited', { varargs: true }, () => {
    visited++
    return 1
  })
  try {
    const { text, binds } = compile(positionOf(list, sqlite), '?')
    const counted = text.replace(/ AS "t0"( WHERE)?/, (from: string, condition: string | undefined) =>
      condition === undefined ? `${from} WHERE visited("t0"."id")` : `${from} visited("t0"."id") AND`,
    )
    database.prepare(counted).all(...binds.map(bind => parameterValue(bind, inputs)))
    return visited
  } finally {
    database.close()
  }
}

interface CountedNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly CountedNode[]
}

async function byPostgres(url: string, list: GuardedList, inputs: Inputs): Promise<number> {
  const statement = statementOf(sql`EXPLAIN (ANALYZE, FORMAT JSON) ${positionOf(list, postgres)}`)
  const [row] = await query(url, statement.text, statement.with(inputs).values)
  assert.ok(row)
  const [explained] = row['QUERY PLAN'] as readonly { readonly Plan: CountedNode }[]
  assert.ok(explained)
  return countedRows(explained.Plan)
}

function countedRows(node: CountedNode): number {
  const visited = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const ownCount = node['Node Type'].endsWith('Scan') ? visited : 0
  return (node.Plans ?? []).reduce((sum, value) => sum + countedRows(value), ownCount)
}
