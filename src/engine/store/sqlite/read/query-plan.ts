/**
 * Parses the rows of `EXPLAIN QUERY PLAN` (https://sqlite.org/eqp.html), as `wherecode.c` and `select.c` of SQLite 3.46 to
 * 3.53 write them. Their format is not stable, so any other text becomes a step of the kind `unknown`, which `estimatePlan`
 * counts as unbounded.
 */
import type { PlanAccess, PlanBase, PlanBlock, PlanNote, PlanStep, PlanTree } from '../../plans/steps.ts'
import type { ResultRow } from '../../values.ts'

/** The columns `id`, `parent`, `notused` and `detail`. */
export type PlanRow = ResultRow

/** The tree of steps. Rows whose parent is missing are at the top. Never throws. */
export function parsePlan(rows: readonly PlanRow[]): readonly PlanStep[] {
  const children = new Map<number, PlanRow[]>()
  const ids = new Set(rows.map(([id]) => Number(id)))
  for (const row of rows) {
    const parent = Number(row[1])
    const under = ids.has(parent) && parent < Number(row[0]) ? parent : 0
    children.set(under, [...(children.get(under) ?? []), row])
  }
  const below = (id: number): PlanStep[] =>
    (children.get(id) ?? []).map(row => parseStep(String(row[3]), id => below(id), Number(row[0])))
  return below(0)
}

function parseStep(detail: string, below: (id: number) => PlanStep[], id: number): PlanStep {
  const base = { detail, steps: id === 0 ? [] : below(id) }
  return parseAccess(base) ?? parseBlock(base) ?? parseTree(base) ?? parseNote(base)
}

const constantPattern = /^SCAN (?:\d+ )?CONSTANT ROWS?$|^SCAN \d+-ROW VALUES CLAUSE$/
const accessPattern =
  /^(?<verb>SCAN|SEARCH) (?:TABLE |SUBQUERY )?(?<table>\S+)(?: AS (?<alias>\S+))?(?<exists> EXISTS)?(?<how> (?:USING|VIRTUAL) .*?)?(?: (?:LEFT|RIGHT|FULL)-JOIN)?$/
const indexPattern =
  /^ USING (?<automatic>AUTOMATIC )?(?:PARTIAL )?(?<covering>COVERING )?(?:INDEX|PRIMARY KEY)(?: (?<index>[^\s(]+))?(?: \((?<constraint>.*)\))?$/
const rowidPattern = /^ USING INTEGER PRIMARY KEY(?: \((?<constraint>.*)\))?$/

function parseAccess(base: PlanBase): PlanAccess | undefined {
  if (constantPattern.test(base.detail)) return accessOf(base, 'constant', '')
  const groups = accessPattern.exec(base.detail)?.groups
  if (groups === undefined) return undefined
  const { verb, table = '', alias = table, exists, how = '' } = groups
  const access = verb === 'SEARCH' ? 'search' : 'scan'
  const step = { ...accessOf(base, access, alias), exists: exists !== undefined }
  if (how === '') return step
  if (how.startsWith(' VIRTUAL TABLE')) return { ...step, access: 'virtual' }
  const rowid = rowidPattern.exec(how)?.groups
  if (rowid) return { ...step, index: 'rowid', ...constraintOf(rowid.constraint) }
  const index = indexPattern.exec(how)?.groups
  if (index === undefined) return undefined
  return {
    ...step,
    index: index.index,
    covering: index.covering !== undefined,
    automatic: index.automatic !== undefined,
    ...constraintOf(index.constraint),
  }
}

function accessOf(base: PlanBase, access: PlanAccess['access'], table: string): PlanAccess {
  const none = { index: undefined, covering: false, automatic: false, exists: false }
  return { ...base, kind: 'access', access, table, ...none, ...constraintOf(undefined) }
}

/** E.g. `a=? AND ANY(b) AND (c,d)>(?,?)`: the first is documented at https://sqlite.org/eqp.html, the rest only in `wherecode.c`. */
function constraintOf(constraint: string | undefined): Pick<PlanAccess, 'constraint' | 'equal' | 'ranged'> {
  const equal: string[] = []
  const ranged: string[] = []
  for (const part of constraint?.split(' AND ') ?? []) {
    const single = /^(?<column>[^=<>(),]+|<expr>)=\?$/.exec(part)?.groups?.column
    if (single !== undefined) equal.push(single)
    else ranged.push(...(part.replace(/^ANY/, '').match(/[\w$]+/g) ?? [part]))
  }
  return { constraint, equal, ranged: [...new Set(ranged)] }
}

const blockPatterns: readonly (readonly [PlanBlock['block'], RegExp])[] = [
  ['scalar', /^(?:CORRELATED )?SCALAR SUBQUERY \d+$/],
  ['list', /^(?:CORRELATED )?LIST SUBQUERY \d+$/],
  ['rows', /^(?:CO-ROUTINE|MATERIALIZE) (?<name>\S+)$/],
  ['or', /^MULTI-INDEX OR$/],
  [
    'branch',
    /^(?:INDEX \d+|COMPOUND QUERY|LEFT-MOST SUBQUERY|UNION ALL|MERGE \(.*\)|LEFT|RIGHT|(?:UNION|EXCEPT|INTERSECT)(?: USING TEMP B-TREE)?)$/,
  ],
]

function parseBlock(base: PlanBase): PlanBlock | undefined {
  for (const [block, pattern] of blockPatterns) {
    const match = pattern.exec(base.detail)
    if (match === null) continue
    const correlated = base.detail.startsWith('CORRELATED ')
    return { ...base, kind: 'block', block, correlated, name: match.groups?.name }
  }
  return undefined
}

const treePattern =
  /^USE TEMP B-TREE FOR (?:LAST (?:(?<last>\d+) TERMS|TERM) OF )?(?:(?:ORDER BY|GROUP BY|DISTINCT|UNION)|\w+\(DISTINCT\))$/

function parseTree(base: PlanBase): PlanTree | undefined {
  const groups = treePattern.exec(base.detail)?.groups
  if (groups === undefined) return undefined
  const lastTerms = base.detail.includes(' LAST ') ? Number(groups.last ?? 1) : undefined
  return { ...base, kind: 'tree', lastTerms }
}

/** A subquery that has already run, a Bloom filter of a join, an index that serves as the list of an IN operator. */
const harmless = /^(?:REUSE (?:LIST )?SUBQUERY \d+|BLOOM FILTER ON .+|USING (?:INDEX|ROWID) .+IN-OPERATOR)$/

function parseNote(base: PlanBase): PlanNote {
  return { ...base, kind: harmless.test(base.detail) ? 'harmless' : 'unknown' }
}

/** The table behind each alias of a statement of Portico's, which declares aliases as `"posts" AS "t0"`. */
export function tablesByAlias(text: string): ReadonlyMap<string, string> {
  const tables = new Map<string, string>()
  for (const [, table, alias] of text.matchAll(/'(?:[^']|'')*'|"((?:[^"]|"")*)" AS "((?:[^"]|"")*)"/g)) {
    if (table !== undefined && alias !== undefined) tables.set(alias, table)
  }
  return tables
}
