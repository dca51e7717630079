/**
 * How many rows a statement can visit, by its query plan and the sizes of its tables.
 *
 * Guarantees: `most` is an upper bound, within a small factor, of the rows of tables and indexes that SQLite visits
 * while it runs the statement, as long as `PlanFacts` is correct. A `bounded` statement does not visit more rows when its
 * tables grow. A plan with an unknown step is never `bounded`. `expected` is not a bound: if a search by equality finds an
 * unknown number of rows, or a filter keeps an unknown fraction of them, it uses the averages in `PlanFacts`.
 */
import type { PlanAccess, PlanBlock, PlanStep } from './steps.ts'

/** Facts that the plan does not contain. Tables have the names of the plan: their aliases, if they have one. */
export interface PlanFacts {
  /** The number of rows of a table; undefined if unknown or unbounded. For a search table, that of the collection. */
  rowsOf(table: string): number | undefined
  /** Whether no two rows have the same values in these columns. By default, only the id is such a key. */
  isKey?(table: string, columns: readonly string[]): boolean
  /** The average number of rows that share their values in these columns; undefined if unknown. */
  rowsPerKey?(table: string, columns: readonly string[]): number | undefined
  /**
   * Whether the access searches for one key, whose values the list requires. Otherwise, a list subquery after it may supply
   * many keys: the plan does not tell whether it does, or filters the rows.
   */
  hasOneKey?(access: PlanAccess): boolean
  /** As `rowsPerKey`, for the columns by which the outermost rows are sorted, without the last `terms`. */
  rowsPerGroup?(terms: number): number | undefined
  /** Whether the rows of the access are filtered by further conditions than its constraint. By default, yes. */
  filtered?(access: PlanAccess): boolean
  /**
   * The fraction of the access's rows, from 0 to 1, that fulfils the conditions beyond its constraint. By default, unknown:
   * possibly none.
   */
  selectivity?(access: PlanAccess): number
  /** The largest limit + offset of the statement's lists. Undefined: its outermost rows have no limit. */
  readonly take: number | undefined
  /** Whether scalar subqueries count rows. If not, they end at their first row. By default, yes. */
  readonly counts?: boolean
}

export interface PlanEstimate {
  /** The maximum number of visited rows. */
  readonly most: number
  /** As `most`, with the averages of the facts. */
  readonly expected: number
  /** Those of `expected` that are visited once, also if the statement is a subquery that runs for each row of another one. */
  readonly expectedOnce: number
  /** Whether `most` stays the same when the tables grow. */
  readonly bounded: boolean
  /** Whether rows are read in order and then filtered: the scan ends early if there are enough matches. */
  readonly walks: boolean
  /**
   * Whether rows whose number grows with a table are put into a temporary b-tree. `groups`: only those with equal
   * values in the first terms of the order, one group at a time.
   */
  readonly sorts: 'all' | 'groups' | 'none'
  /** Whether it searches a full-text index. */
  readonly searches: boolean
}

/** The fraction of a table that a search by equality finds, if nothing better is known. */
const defaultKeySelectivity = 0.01
/** The number of values in a client's list (`IN (…)`), which is not known. */
const listSize = 100
/** Matches are not evenly distributed: the average number of scanned rows per match is multiplied by this factor. */
export const skewFactor = 2
/** The size of a table about which nothing is known. */
const unknownRows = Number.MAX_SAFE_INTEGER

interface Flags {
  bounded: boolean
  walks: boolean
  sorts: PlanEstimate['sorts']
  searches: boolean
}

interface Calculation {
  readonly facts: PlanFacts
  readonly average: boolean
  readonly flags: Flags
  /** The number of rows that subqueries in FROM return, by name. */
  readonly outputs: Map<string, number>
  /** The rows that subqueries visit which run once for the statement, however deep they are nested. */
  readonly once: { visited: number }
}

interface RowCounts {
  /** Rows visited. */
  readonly visited: number
  /** Rows returned to the enclosing block. */
  readonly returned: number
}

/** `steps`: the result of `parsePlan`. */
export function estimatePlan(steps: readonly PlanStep[], facts: PlanFacts): PlanEstimate {
  const most = calculation(facts, false)
  const average = calculation(facts, true)
  return {
    most: statementWork(steps, most),
    expected: statementWork(steps, average),
    expectedOnce: average.once.visited,
    ...most.flags,
  }
}

function statementWork(steps: readonly PlanStep[], within: Calculation): number {
  const { visited } = blockWork(steps, within.facts.take, within)
  return visited + within.once.visited
}

function calculation(facts: PlanFacts, average: boolean): Calculation {
  const flags: Flags = { bounded: true, walks: false, sorts: 'none', searches: false }
  return { facts, average, flags, outputs: new Map(), once: { visited: 0 } }
}

/** Nested loops: each access runs once for each row of the accesses before it. `limit`: the number of requested rows. */
function blockWork(steps: readonly PlanStep[], limit: number | undefined, within: Calculation): RowCounts {
  let visited = 0
  let loops = 1
  let isFirst = true
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'unknown') within.flags.bounded = false
    if (isSource(step)) {
      const end: BlockEnd = isFirst ? { limit, steps } : { limit: undefined, steps: [] }
      const rowsPerLoop = sourceRows(step, keysOf(steps, index, within), end, within)
      isFirst = false
      if (!readsSubquery(step, within)) visited += times(loops, rowsPerLoop)
      loops = nextLoops(step, loops, rowsPerLoop)
    } else if (step.kind === 'block') {
      const { visited: inBlock } = nested(step, within)
      if (runsOnce(step)) within.once.visited += inBlock
      else visited += times(step.correlated ? loops : 1, inBlock)
    }
  }
  return { visited, returned: limit === undefined ? loops : Math.min(limit, loops) }
}

type ScanStep = PlanAccess | (PlanBlock & { readonly block: 'or' })

function isSource(step: PlanStep): step is ScanStep {
  return step.kind === 'access' || (step.kind === 'block' && step.block === 'or')
}

/** Both databases keep the result of a subquery that depends on no other row, also within one that depends on some. */
function runsOnce({ block, correlated }: PlanBlock): boolean {
  return !correlated && (block === 'list' || block === 'scalar')
}

/** Whether it reads the result of a subquery in FROM, whose rows are already counted. */
function readsSubquery(step: ScanStep, { outputs }: Calculation): boolean {
  return step.kind === 'access' && outputs.has(step.table)
}

function times(loops: number, rowsPerLoop: number): number {
  return loops === 0 || rowsPerLoop === 0 ? 0 : loops * rowsPerLoop
}

function nextLoops(step: ScanStep, loops: number, rowsPerLoop: number): number {
  if (step.kind === 'access' && (step.access === 'constant' || step.exists)) return loops
  return times(loops, rowsPerLoop)
}

function nested(step: PlanBlock, within: Calculation): RowCounts {
  const limits = { rows: within.facts.take, scalar: within.facts.counts === false ? 1 : undefined }
  const limit = step.block === 'rows' || step.block === 'scalar' ? limits[step.block] : undefined
  const work = blockWork(step.steps, limit, within)
  if (step.name !== undefined) within.outputs.set(step.name, work.returned)
  return work
}

/** The number of rows found, and whether it grows with a table. */
interface Found {
  readonly rows: number
  readonly grows: boolean
}

/** The list subqueries after an access supply the keys of its constraint, or filter its rows. */
function keysOf(steps: readonly PlanStep[], index: number, within: Calculation): Found {
  let keys: Found = { rows: 1, grows: false }
  for (const step of steps.slice(index + 1)) {
    if (step.kind !== 'block' || step.block !== 'list') break
    // The cost is counted at the step itself.
    const separate = { ...within, flags: { ...within.flags, bounded: true }, once: { visited: 0 } }
    const rows = blockWork(step.steps, undefined, separate).returned
    keys = { rows: Math.max(rows, keys.rows), grows: keys.grows || !separate.flags.bounded }
  }
  return keys
}

/** `end`: what can end the access before it has returned all its rows. */
function sourceRows(step: ScanStep, keys: Found, end: BlockEnd, within: Calculation): number {
  if (step.kind === 'block') return rowsUntilEnd(orRows(step, within), step, end, within)
  const rows = rowsUntilEnd(accessRows(step, keys, within), step, end, within)
  return step.automatic ? rows + tableRows(step, within) : rows
}

/** Several indexes, one after the other. */
function orRows(step: PlanBlock, within: Calculation): Found {
  const works = step.steps.map(branch => blockWork(branch.steps, undefined, within))
  return { rows: works.reduce((sum, work) => sum + work.visited, 0), grows: !within.flags.bounded }
}

function accessRows(access: PlanAccess, keys: Found, within: Calculation): Found {
  const { facts, outputs, flags } = within
  const output = outputs.get(access.table)
  if (output !== undefined) return { rows: output, grows: false }
  if (access.access === 'constant') return { rows: 0, grows: false }
  if (access.access === 'virtual') {
    if (facts.rowsOf(access.table) === undefined) {
      return { rows: listSize, grows: false }
    }
    flags.searches = true
  }
  const rows = tableRows(access, within)
  if (access.access !== 'search' || access.ranged.length > 0) return { rows, grows: true }
  // For `min()` or `max()`: the first entry of the index.
  if (access.constraint === undefined) return { rows: 1, grows: false }
  return equalRows(access, rows, keys, within)
}

function equalRows(
  access: PlanAccess,
  tableSize: number,
  keys: Found,
  { facts, average }: Calculation,
): Found {
  const { index, table, equal } = access
  const isKey = index === 'rowid' || (facts.isKey?.(table, equal) ?? false)
  if (isKey) return { rows: Math.min(tableSize, keys.rows), grows: keys.grows }
  if (!average) return { rows: tableSize, grows: true }
  const rowsPerKey = facts.rowsPerKey?.(table, equal) ?? Math.max(1, tableSize * defaultKeySelectivity)
  const keyCount = facts.hasOneKey?.(access) === true ? 1 : keys.rows
  return { rows: Math.min(tableSize, keyCount * rowsPerKey), grows: true }
}

function tableRows({ table }: PlanAccess, { facts }: Calculation): number {
  return facts.rowsOf(table) ?? unknownRows
}

interface BlockEnd {
  readonly limit: number | undefined
  /** The steps of the block, in which a temporary b-tree collects all rows first. */
  readonly steps: readonly PlanStep[]
}

function rowsUntilEnd(found: Found, step: ScanStep, { limit, steps }: BlockEnd, within: Calculation): number {
  const { flags, facts } = within
  if (!found.grows) return found.rows
  const tree = steps.find(other => other.kind === 'tree')
  if (tree?.kind === 'tree') return sortedRows(found.rows, tree.lastTerms, within)
  const exists = step.kind === 'access' && step.exists
  const neededRows = exists ? 1 : limit
  const filtered = steps.some(other => other !== step && other.kind === 'access' && other.exists)
  const isUnfiltered = step.kind === 'access' && !filtered && facts.filtered?.(step) === false
  if (neededRows !== undefined && isUnfiltered) return Math.min(neededRows, found.rows)
  flags.bounded = false
  if (neededRows === undefined || step.kind === 'block') return found.rows
  flags.walks = true
  const selectivity = within.average ? facts.selectivity?.(step) : undefined
  if (selectivity === undefined) return found.rows
  return Math.min(found.rows, (skewFactor * neededRows) / Math.max(selectivity, Number.EPSILON))
}

function sortedRows(rows: number, lastTerms: number | undefined, within: Calculation): number {
  const { flags, facts, average } = within
  flags.bounded = false
  if (lastTerms === undefined || flags.sorts === 'all') {
    flags.sorts = 'all'
    return rows
  }
  flags.sorts = 'groups'
  const rowsPerGroup = average ? facts.rowsPerGroup?.(lastTerms) : undefined
  return rowsPerGroup === undefined ? rows : Math.min(rows, (facts.take ?? rows) + rowsPerGroup)
}
