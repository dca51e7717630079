/** The query plan of a statement as data, for both databases: see SQLite's and PostgreSQL's `query-plan.ts`. */

/** A step of a plan; steps are in the order of execution. `steps`: the steps within it. */
export type PlanStep = PlanAccess | PlanBlock | PlanTree | PlanNote

export interface PlanBase {
  readonly detail: string
  readonly steps: readonly PlanStep[]
}

/** How rows of one table are found. */
export interface PlanAccess extends PlanBase {
  readonly kind: 'access'
  /**
   * `scan`: every row, in the order of the table or of `index`. `search`: those that fulfil `constraint`.
   * `virtual`: the rows of a virtual table, such as a full-text search. `constant`: no table is read.
   */
  readonly access: 'scan' | 'search' | 'virtual' | 'constant'
  /** The alias, where the statement gives one; otherwise the table's name, or a subquery's. */
  readonly table: string
  /** The index's name; `rowid` for the table's own order of ids; undefined where a scan takes that order. */
  readonly index: string | undefined
  /** Whether the index has every column that is read. */
  readonly covering: boolean
  /** Whether SQLite creates the index for this statement alone, which reads the whole table. */
  readonly automatic: boolean
  /** Whether only the existence of a row matters (SQLite 3.50 and later turn `EXISTS` into a join). */
  readonly exists: boolean
  /** E.g. `author_id=? AND created_at>?`. */
  readonly constraint: string | undefined
  /** The columns of `constraint` that are compared for equality, in the index's order. */
  readonly equal: readonly string[]
  /** The columns of `constraint` that are compared otherwise: a range of the index is read. */
  readonly ranged: readonly string[]
}

/** Steps that run as one: a subquery, or one side of a compound. */
export interface PlanBlock extends PlanBase {
  readonly kind: 'block'
  /**
   * `scalar`: a value, or EXISTS. `list`: what `IN (SELECT …)` compares with. `rows`: a subquery in FROM, as a co-routine
   * or materialised. `or`: several indexes, one a branch. `branch`: one of them, or of a compound's selects.
   */
  readonly block: 'scalar' | 'list' | 'rows' | 'or' | 'branch'
  /** Whether it runs once for each row of the enclosing statement. */
  readonly correlated: boolean
  /** The name under which the rows of a `rows` block are read. */
  readonly name: string | undefined
}

/** A temporary b-tree: it collects all rows before it returns the first. */
export interface PlanTree extends PlanBase {
  readonly kind: 'tree'
  /** For ORDER BY: the number of terms at the end that are sorted, if an index provides the order of those before. */
  readonly lastTerms: number | undefined
}

/** `harmless`: it reads no rows of its own. */
export interface PlanNote extends PlanBase {
  readonly kind: 'harmless' | 'unknown'
}

/** Calls `visit` for every access of the plan, the nested ones too. */
export function eachAccess(steps: readonly PlanStep[], visit: (access: PlanAccess) => void): void {
  for (const step of steps) {
    if (step.kind === 'access') visit(step)
    eachAccess(step.steps, visit)
  }
}
