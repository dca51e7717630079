/**
 * Translates the plan of a list on PostgreSQL (https://www.postgresql.org/docs/15/using-explain.html, FORMAT JSON) to the same
 * steps as SQLite's plans. Only what decides how many rows are visited is kept.
 */
import { isObject } from '../../../../base/json.ts'
import type { JsonValue } from '../../../../model/fields/type.ts'
import type { ListPlan } from '../../advice/findings.ts'
import type { PlanAccess, PlanBlock, PlanStep, PlanTree } from '../../plans/steps.ts'

type Node = Readonly<Record<string, JsonValue | undefined>>

/** `text`: the answer of `EXPLAIN (FORMAT JSON)`. */
export function postgresPlan(text: string): ListPlan {
  const parsed: unknown = JSON.parse(text)
  const root = Array.isArray(parsed) ? parsed[0] : undefined
  const tables = new Map<string, string>()
  const plan = isNode(root) ? root.Plan : undefined
  return { steps: isNode(plan) ? stepsOf(plan, tables) : [unknown('no plan')], tables }
}

function isNode(value: unknown): value is Node {
  return isObject(value)
}

function childrenOf({ Plans }: Node): readonly Node[] {
  return Array.isArray(Plans) ? Plans.filter(isNode) : []
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

type Tables = Map<string, string>

function stepsOf(node: Node, tables: Tables): readonly PlanStep[] {
  const type = textOf(node['Node Type'])
  const children = childrenOf(node)
  const inner = children.filter(child => !isSubplan(child))
  const subplans = children.filter(isSubplan).map(child => subplan(node, child, tables))
  return [...ownSteps(type, node, inner, tables), ...subplans]
}

function isSubplan(node: Node): boolean {
  return ['SubPlan', 'InitPlan'].includes(textOf(node['Parent Relationship']))
}

/** A hashed subplan runs once, and so does an InitPlan. */
function subplan(parent: Node, node: Node, tables: Tables): PlanBlock {
  const isHashed = textOf(parent.Filter).includes(`hashed ${textOf(node['Subplan Name'])}`)
  const isOnce = isHashed || textOf(node['Parent Relationship']) === 'InitPlan'
  return block(isOnce ? 'list' : 'scalar', !isOnce, stepsOf(node, tables))
}

function block(kind: PlanBlock['block'], correlated: boolean, steps: readonly PlanStep[]): PlanBlock {
  return { kind: 'block', block: kind, correlated, name: undefined, detail: kind, steps }
}

function unknown(detail: string): PlanStep {
  return { kind: 'unknown', detail, steps: [] }
}

const scans: ReadonlySet<string> = new Set([
  'Seq Scan',
  'Index Scan',
  'Index Only Scan',
  'Bitmap Heap Scan',
  'Tid Scan',
  'Tid Range Scan',
])

function ownSteps(type: string, node: Node, inner: readonly Node[], tables: Tables): readonly PlanStep[] {
  if (scans.has(type)) return accessSteps(node, inner, tables)
  if (type === 'Sort' || type === 'Incremental Sort') return sorted(node, inner, tables)
  if (type === 'Hash Join' || type === 'Merge Join') return joinSteps(inner, tables)
  if (type === 'Nested Loop') return nestedLoopSteps(node, inner, tables)
  // A function such as `unnest`, or a constant: no table is read.
  if (inner.length === 0)
    return type.endsWith('Scan') || type === 'Result' ? [constant(type)] : [unknown(type)]
  return inner.flatMap(child => stepsOf(child, tables))
}

const nothing = { index: undefined, covering: false, automatic: false, exists: false, constraint: undefined }

function constant(detail: string): PlanAccess {
  return {
    kind: 'access',
    access: 'constant',
    table: '',
    ...nothing,
    equal: [],
    ranged: [],
    detail,
    steps: [],
  }
}

/** A lookup of a list of values also has a step for the list. */
function accessSteps(node: Node, inner: readonly Node[], tables: Tables): readonly PlanStep[] {
  const access = accessOf(node, inner, tables)
  if (!access.constraint?.includes(' = ANY ')) return [access]
  const values: PlanAccess = { ...constant('values'), access: 'virtual', table: 'values' }
  return [access, block('list', false, [values])]
}

function accessOf(node: Node, inner: readonly Node[], tables: Tables): PlanAccess {
  const table = textOf(node['Relation Name'])
  const alias = textOf(node.Alias) || table
  tables.set(alias, table)
  const [index, condition] = indexOf(node, inner)
  const isSearch = table.startsWith('_search_')
  const columns = columnsOf(condition)
  const detail = `${textOf(node['Node Type'])} ${alias}`
  const found = { index, covering: detail.startsWith('Index Only'), constraint: condition || undefined }
  const access = isSearch ? 'virtual' : condition === '' ? 'scan' : 'search'
  return { kind: 'access', access, table: alias, ...nothing, ...found, ...columns, detail, steps: [] }
}

/** For a bitmap scan, the first index: further indexes only reduce the number of rows. */
function indexOf(node: Node, inner: readonly Node[]): readonly [string | undefined, string] {
  const name = textOf(node['Index Name'])
  if (name !== '') return [name, textOf(node['Index Cond'])]
  for (const child of inner) {
    const found = indexOf(child, childrenOf(child))
    if (found[0] !== undefined) return found
  }
  return [undefined, textOf(node['TID Cond'])]
}

/** E.g. `((author_id = 5) AND (created_at < '…'::text) AND (id = ANY ('{1,2}'::bigint[])))`. */
function columnsOf(condition: string): Pick<PlanAccess, 'equal' | 'ranged'> {
  const equal: string[] = []
  const ranged: string[] = []
  // Literals may contain anything.
  const bare = condition.replaceAll(/'(?:[^']|'')*'/g, "''")
  const tuples = /ROW\(([^()]*)\) [<>]/g
  for (const [, tuple = ''] of bare.matchAll(tuples)) ranged.push(...tuple.split(', '))
  for (const [, column = '', sign = ''] of bare
    .replaceAll(tuples, '')
    .matchAll(/\(?"?([a-z_][a-z0-9_]*)"?\)?(?:::\w+)? (=|<|>|<=|>=|IS NULL)(?= |$|\))/g)) {
    if (sign === '=' || sign === 'IS NULL') equal.push(column)
    else ranged.push(column)
  }
  return { equal: [...new Set(equal)], ranged: [...new Set(ranged)] }
}

/** If an index provides the order of the first keys, only rows with equal first keys are sorted together. */
function sorted(node: Node, inner: readonly Node[], tables: Tables): readonly PlanStep[] {
  const keys = Array.isArray(node['Sort Key']) ? node['Sort Key'].length : 1
  const presorted = Array.isArray(node['Presorted Key']) ? node['Presorted Key'].length : 0
  const lastTerms = presorted === 0 ? undefined : keys - presorted
  const tree: PlanTree = { kind: 'tree', lastTerms, detail: 'Sort', steps: [] }
  return [...inner.flatMap(child => stepsOf(child, tables)), tree]
}

/** Both sides are read once. */
function joinSteps([outer, ...others]: readonly Node[], tables: Tables): readonly PlanStep[] {
  const first = outer === undefined ? [] : stepsOf(outer, tables)
  return [...first, ...others.map(other => block('branch', false, stepsOf(other, tables)))]
}

function nestedLoopSteps(
  node: Node,
  [outer, ...others]: readonly Node[],
  tables: Tables,
): readonly PlanStep[] {
  const first = outer === undefined ? [] : stepsOf(outer, tables)
  const exists = ['Semi', 'Anti'].includes(textOf(node['Join Type']))
  const second = others.flatMap(other => stepsOf(other, tables))
  return [...first, ...second.map(step => (step.kind === 'access' ? { ...step, exists } : step))]
}
