/** Statements as PostgreSQL prepares them: by a name, once on every connection that runs them. */
import type { AnswerBound } from '../../../plan/answer-bound.ts'
import { postgres } from '../../sql/postgres.ts'
import { type Bind, compile, type Sql } from '../../sql/writer.ts'
import { type Actor, type Inputs, parameterValue, type SqlValue } from '../../values.ts'

export type ParameterText = string | null

/** A value of a row: numbers as numbers, booleans as 1 and 0, all others as text. */
export type DataValue = string | number | null
export type DataRow = readonly DataValue[]
export type DataRows = readonly DataRow[]

type Decoder = ((text: string) => DataValue) | undefined

export class Statement {
  /** Empty: the statement is planned separately for each execution (see `statementOf`). */
  readonly name: string
  readonly text: string
  readonly changes: boolean
  /** Whether it begins, ends or divides a transaction. */
  readonly isControl: boolean
  readonly #binds: readonly Bind[]
  #decoders: readonly Decoder[] = []

  constructor(name: string, text: string, binds: readonly Bind[], changes: boolean) {
    this.name = name
    this.text = text
    this.changes = changes
    this.isControl = /^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/.test(text)
    this.#binds = binds
  }

  with(inputs: Inputs): BoundStatement {
    const values = this.#binds.map(bind => textOf(parameterValue(bind, inputs)))
    return { statement: this, values, actor: inputs.actor }
  }

  /** `types`: of the columns, as the database describes them. */
  describe(types: readonly number[]): void {
    this.#decoders = types.map(type => decoders.get(type))
  }

  row(fields: readonly (string | null)[]): DataRow {
    const cells: DataValue[] = []
    for (const [index, field] of fields.entries()) {
      const decode = this.#decoders[index]
      cells.push(field === null || decode === undefined ? field : decode(field))
    }
    return cells
  }
}

/** A statement with its values. */
export interface BoundStatement {
  readonly statement: Statement
  readonly values: readonly ParameterText[]
  readonly actor?: Actor | undefined
  /** Whether its rows end with the total of their list: see `searchedPageSql`. */
  readonly hasTotal?: true
  /** The bound of the texts in the first column of its rows; omitted: they have any size. */
  readonly answerBound?: AnswerBound | undefined
  /** Returns the sizes of these texts instead of them. To be run first, since the texts may have many times too many bytes. */
  readonly sizes?: BoundStatement | undefined
  /** How many rows it returns at most, the last of which may be no part of the answer; omitted: all its rows are. */
  readonly maxRows?: number | undefined
}

/** The result of a statement whose rows are larger than `answerBound` allows. They are discarded as they arrive. */
export const tooLargeRows: DataRows = []

/** The result of a batch: the rows of the statements that succeeded, and why the next one failed. */
export interface PipelineResult {
  readonly results: readonly DataRows[]
  readonly tags: readonly string[]
  readonly error: Error | undefined
}

let count = 0

/**
 * To be called once for each text: a connection prepares each statement under its name. A search has no name if its plan
 * depends on its terms: after five executions PostgreSQL would switch to a generic plan, which scans the whole list for rare
 * words.
 */
export function statementOf(fragment: Sql): Statement {
  const { text, binds } = compile(fragment, postgres.sign)
  count++
  const changes = !/^(SELECT|WITH "refs")/.test(text) || text.includes('INSERT INTO')
  const isSearch = binds.some(bind => 'as' in bind && bind.as === postgres.searchTerms)
  return new Statement(isSearch ? '' : `p${count}`, text, binds, changes)
}

const number = (text: string): DataValue => Number(text)
const boolean = (text: string): DataValue => (text === 't' ? 1 : 0)

/** By the object id of the type (https://www.postgresql.org/docs/15/catalog-pg-type.html). */
const decoders: ReadonlyMap<number, Decoder> = new Map([
  [16, boolean],
  [20, number],
  [21, number],
  [23, number],
  [700, number],
  [701, number],
])

function textOf(value: SqlValue): ParameterText {
  return value === null ? null : String(value)
}
