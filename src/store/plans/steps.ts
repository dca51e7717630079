/** A database's plan of a statement as data, which both databases share: SQLite's and PostgreSQL's `query-plan.ts` make it. */

/** What a plan consists of, in the order in which it runs. `steps`: those that run within it. */
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
   * `virtual`: what a virtual table gives, such as a full-text search. `constant`: no table is read.
   */
  readonly access: 'scan' | 'search' | 'virtual' | 'constant'
  /** The alias, where the statement gives one; otherwise the table's name, or a subquery's. */
  readonly table: string
  /** The index's name; `rowid` for the table's own order of ids; undefined where a scan takes that order. */
  readonly index: string | undefined
  /** Whether the index has every column that is read. */
  readonly covering: boolean
  /** Whether SQLite makes the index for this one statement, which reads the whole table. */
  readonly automatic: boolean
  /** Whether only the existence of a row is asked (3.50 and later make a join of `EXISTS`). */
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
  /** Whether it runs anew for each row of the statement around it. */
  readonly correlated: boolean
  /** The name under which the rows of a `rows` block are read. */
  readonly name: string | undefined
}

/** A temporary b-tree: all rows so far are put into it before the first one leaves. */
export interface PlanTree extends PlanBase {
  readonly kind: 'tree'
  readonly purpose: 'order' | 'group' | 'distinct' | 'union'
  /** Of an ORDER BY: how many terms at its end are sorted, since an index gives the order of those before. */
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
