/** A row that expressions speak of: its table and alias, and which of its columns they use. */
import type { Condition } from '../../plan/guarded.ts'
import type { Dialect } from './dialect.ts'
import { join, name, type Sql, sql } from './writer.ts'

const none: ReadonlySet<string> = new Set()

interface Counter {
  next: number
  /** The alias of the statement's own row, where that may be a number's: of a row that is written, its table's name. */
  readonly taken?: string
}

/** What is read before a collection's own table, and leads to its rows by their ids. */
export interface RowSource {
  /** A table or query with its alias. */
  readonly from: Sql
  /**
   * What lists are sorted by; `id` is among it. Nothing else is said of it: FTS5 takes `rowid = NULL`, beside a MATCH,
   * as if it were not there.
   */
  readonly keys: ReadonlyMap<string, Sql>
  /** The alias of the search index, where it is that. */
  readonly index: Sql | undefined
  /** The search by which its rows are found, and what is left of that condition over them. */
  readonly search: Condition | undefined
  readonly matches: Sql
}

export class Row {
  readonly dialect: Dialect
  readonly table: string
  /** Whether it comes from an event: what it refers to may be gone. */
  isLogged = false
  /** The fields for whose comparison with a constant no index is looked up: see `index-exclusion.ts`. */
  excludedFromIndexes: ReadonlySet<string> = none
  /** Where it is not read from its own table alone. */
  source: RowSource | undefined
  #used = new Set<string>()
  #keys: RowSource['keys'] | undefined
  readonly alias: string
  readonly #alias: Sql
  readonly #counter: Counter

  /** Without `alias`, a row of the statement's own table, `t0`. */
  constructor(dialect: Dialect, table: string, alias = 't0', counter: Counter = { next: 1, taken: alias }) {
    this.dialect = dialect
    this.table = table
    this.alias = alias
    this.#alias = name(alias)
    this.#counter = counter
  }

  /** A row of another table within the same statement. */
  another(table: string): Row {
    const alias = `t${this.#counter.next++}`
    if (alias === this.#counter.taken) return this.another(table)
    return new Row(this.dialect, table, alias, this.#counter)
  }

  /** A row of a collection as it is stored, whatever the caller may read. */
  stored(collection: string): Row {
    return this.another(this.dialect.stored(collection))
  }

  column(column: string): Sql {
    const key = this.#keys?.get(column)
    if (key !== undefined) return key
    this.#used.add(column)
    return sql`${this.#alias}.${name(column)}`
  }

  /** The row as lists are sorted by it. */
  sorted(): Row {
    const { source } = this
    if (source === undefined) return this
    const sorted = this.inner()
    sorted.#used = this.#used
    sorted.#keys = source.keys
    return sorted
  }

  /**
   * `"posts" AS "t0"`. To be asked for after the columns: where none is used, a source is read without the table.
   */
  from(): Sql {
    const { source } = this
    const own = sql`${name(this.table)} AS ${this.#alias}`
    if (source === undefined) return own
    const { from, keys } = source
    if (this.#used.size === 0) return from
    return sql`${from}${this.dialect.leading}${own} ON ${this.#alias}."id" = ${keys.get('id') ?? []}`
  }

  /** The result of a query over this very row, under its alias. */
  of(query: Sql): Sql {
    return sql`(${query}) AS ${this.#alias}`
  }

  /** The names of the columns used so far. */
  used(): readonly string[] {
    return this.#used.size === 0 ? ['id'] : [...this.#used]
  }

  /** The same row in a query within its own, which may begin elsewhere: see `of`. */
  inner(): Row {
    return new Row(this.dialect, this.table, this.alias, this.#counter)
  }

  /** The columns that `outer` has used so far, as a select list. */
  columns(outer: Row = this): Sql {
    const listed = outer.used().map(used => {
      const key = this.source?.keys.get(used)
      return key === undefined ? this.column(used) : sql`${key} AS ${name(used)}`
    })
    return join(listed, ', ')
  }
}
