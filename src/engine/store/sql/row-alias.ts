/** A row that expressions refer to: its table, its alias, and the columns that they use. */
import type { Condition } from '../../plan/guarded-conditions.ts'
import type { Dialect } from './dialect.ts'
import { join, name, type Sql, sql } from './writer.ts'

const none: ReadonlySet<string> = new Set()

interface AliasCounter {
  next: number
  /** An alias that must not be generated again: that of the statement's own row, which may be a table's name. */
  readonly reserved?: string
}

/** A table or query that is read before a collection's own table, and yields the ids of its rows. */
export interface RowSource {
  /** A table or query with its alias. */
  readonly from: Sql
  /**
   * The sort keys of lists, including `id`. Conditions do not use them: FTS5 ignores `rowid = NULL` in a statement with
   * MATCH.
   */
  readonly keys: ReadonlyMap<string, Sql>
  /** The alias of the search index, if that is the source. */
  readonly index: Sql | undefined
  /** The search condition that the source applies, and the condition that replaces it in the statement. */
  readonly search: Condition | undefined
  readonly matches: Sql
}

export class RowAlias {
  readonly dialect: Dialect
  readonly table: string
  /** Whether it comes from an event: the rows that it refers to may have been deleted. */
  isLogged = false
  /** The fields whose comparison with a constant must not use an index: see `index-exclusion.ts`. */
  excludedFromIndexes: ReadonlySet<string> = none
  /** Undefined if only its own table is read. */
  source: RowSource | undefined
  #used = new Set<string>()
  #keys: RowSource['keys'] | undefined
  readonly alias: string
  readonly #alias: Sql
  readonly #counter: AliasCounter

  /** Without `alias`, a row of the statement's own table, `t0`. */
  constructor(
    dialect: Dialect,
    table: string,
    alias = 't0',
    counter: AliasCounter = { next: 1, reserved: alias },
  ) {
    this.dialect = dialect
    this.table = table
    this.alias = alias
    this.#alias = name(alias)
    this.#counter = counter
  }

  /** A row of another table within the same statement. */
  another(table: string): RowAlias {
    const alias = `t${this.#counter.next++}`
    if (alias === this.#counter.reserved) return this.another(table)
    return new RowAlias(this.dialect, table, alias, this.#counter)
  }

  /** A stored row of a collection, regardless of what the caller may read. */
  stored(collection: string): RowAlias {
    return this.another(this.dialect.stored(collection))
  }

  column(column: string): Sql {
    const key = this.#keys?.get(column)
    if (key !== undefined) return key
    this.#used.add(column)
    return sql`${this.#alias}.${name(column)}`
  }

  /** The same row, with the sort keys of its source. */
  sorted(): RowAlias {
    const { source } = this
    if (source === undefined) return this
    const sorted = this.inner()
    sorted.#used = this.#used
    sorted.#keys = source.keys
    return sorted
  }

  /**
   * `"posts" AS "t0"`. Called after the columns: if none is used, the source is read without the table.
   */
  from(): Sql {
    const { source } = this
    const tableItem = sql`${name(this.table)} AS ${this.#alias}`
    if (source === undefined) return tableItem
    const { from, keys } = source
    if (this.#used.size === 0) return from
    const isRow = sql`${this.#alias}."id" = ${keys.get('id') ?? []}`
    return sql`${from}${this.dialect.secondTable(tableItem, this.#alias, isRow)}`
  }

  /** A query as a FROM item with this row's alias. */
  of(query: Sql): Sql {
    return sql`(${query}) AS ${this.#alias}`
  }

  /** The same row in another dialect. */
  in(dialect: Dialect): RowAlias {
    const row = new RowAlias(dialect, this.table, this.alias, this.#counter)
    row.#used = this.#used
    return row
  }

  /** The names of the columns used so far. */
  usedColumns(): readonly string[] {
    return this.#used.size === 0 ? ['id'] : [...this.#used]
  }

  /** The same row in a subquery, which may have another source: see `of`. */
  inner(): RowAlias {
    return new RowAlias(this.dialect, this.table, this.alias, this.#counter)
  }

  /** The columns that `outer` has used so far, as a select list. */
  columns(outer: RowAlias = this): Sql {
    const columns = outer.usedColumns().map(column => {
      const key = this.source?.keys.get(column)
      return key === undefined ? this.column(column) : sql`${key} AS ${name(column)}`
    })
    return join(columns, ', ')
  }
}
