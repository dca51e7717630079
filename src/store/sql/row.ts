/** A row that expressions speak of: its table and alias, and which of its columns they use. */
import type { Dialect } from './dialect.ts'
import { join, name, type Sql, sql } from './writer.ts'

const none: ReadonlySet<string> = new Set()

interface Counter {
  next: number
  /** The alias of the statement's own row, where that may be a number's: of a row that is written, its table's name. */
  readonly taken?: string
}

export class Row {
  readonly dialect: Dialect
  readonly table: string
  /** Whether it comes from an event: what it refers to may be gone. */
  isLogged = false
  /** The fields for whose comparison with a constant no index is looked up: see `sought.ts`. */
  unsought: ReadonlySet<string> = none
  readonly #used = new Set<string>()
  readonly #alias: Sql
  readonly #counter: Counter

  /** Without `alias`, a row of the statement's own table, `t0`. */
  constructor(dialect: Dialect, table: string, alias = 't0', counter: Counter = { next: 1, taken: alias }) {
    this.dialect = dialect
    this.table = table
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
    this.#used.add(column)
    return sql`${this.#alias}.${name(column)}`
  }

  /** `"posts" AS "t0"`. */
  from(): Sql {
    return sql`${name(this.table)} AS ${this.#alias}`
  }

  /** The result of a query over this very row, under its alias. */
  of(query: Sql): Sql {
    return sql`(${query}) AS ${this.#alias}`
  }

  /** The names of the columns used so far. */
  used(): readonly string[] {
    return this.#used.size === 0 ? ['id'] : [...this.#used]
  }

  /** The columns used so far, as a select list. */
  columns(): Sql {
    return join(
      this.used().map(column => sql`${this.#alias}.${name(column)}`),
      ', ',
    )
  }
}
