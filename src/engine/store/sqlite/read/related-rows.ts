/**
 * Lists with conditions on related rows. Two statements find the same rows, and neither is always fast. One walks the list
 * in its order and looks up the related rows of each row, which is fast if many rows match. The other starts from the set of
 * matching ids, which is fast if few rows match. So a bounded number of rows is walked first, unless the total shows that they
 * would not be enough. See decisions/node-sqlite.md.
 */
import { implies } from '../../../../base/predicate.ts'
import { isIndexed } from '../../../../model/indexes.ts'
import type { Collection } from '../../../../model/model.ts'
import type { GuardedList } from '../../../plan/guarded.ts'
import type { Condition } from '../../../plan/guarded-conditions.ts'
import type { SliceSize, WholeList } from '../../read/database.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { listSql, type Slice, walkSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Inputs, ResultRow } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'
import type { InlineContext, InlineStatement } from './inline-statement.ts'

interface RelatedRowsContext extends InlineContext {
  /** With `budgetCheck` if the time of statements is limited. */
  readonly dialect: Dialect
}

/** Finds the rows of a slice by the statement that suits the list. */
export class RelatedRows implements InlineStatement {
  readonly #shape: GuardedList
  readonly #slice: Slice
  readonly #size: SliceSize
  readonly #context: RelatedRowsContext
  #byLookUp: Statement | undefined
  #bySet: Statement | undefined
  /** Null: no index has the list's order, so a walk would sort all rows. */
  #walk: Statement | null | undefined

  constructor(shape: GuardedList, slice: Slice, size: SliceSize, context: RelatedRowsContext) {
    this.#shape = shape
    this.#slice = slice
    this.#size = size
    this.#context = context
  }

  get(inputs: Inputs): ResultRow | undefined {
    return this.all(inputs)[0]
  }

  all(inputs: Inputs, total?: number): readonly ResultRow[] {
    const { totals, connection, walkedRows, dialect } = this.#context
    const totalRows = totals.of(this.#shape.collection.name)
    if (totalRows <= walkedRows || !prefersSets(this.#shape, this.#context)) {
      this.#byLookUp ??= connection.prepare(listSql(this.#shape, this.#slice, dialect))
      return this.#byLookUp.all(inputs)
    }
    const rows = this.#areMatchesNear(inputs, total, totalRows) ? this.#walkRows(inputs) : undefined
    return rows ?? this.#rowsFromSet(inputs)
  }

  /** Whether the first rows probably contain enough matches. */
  #areMatchesNear(inputs: Inputs, total: number | undefined, totalRows: number): boolean {
    if (total === undefined) return true
    const neededRows = this.#size.skipped(inputs) + this.#size.rows(inputs)
    return 2 * neededRows * totalRows <= this.#context.walkedRows * total
  }

  /** Undefined if it found too few rows. */
  #walkRows(inputs: Inputs): readonly ResultRow[] | undefined {
    if (this.#walk === undefined) {
      const { connection, walkedRows } = this.#context
      const fragment = walkSql(this.#shape, this.#slice, walkedRows, sqlite)
      this.#walk = needsSort(fragment, connection) ? null : connection.prepare(fragment)
    }
    const rows = this.#walk?.all(inputs)
    return rows?.length === this.#size.rows(inputs) ? rows : undefined
  }

  #rowsFromSet(inputs: Inputs): readonly ResultRow[] {
    const { connection, dialect } = this.#context
    this.#bySet ??= connection.prepare(listSql(this.#shape, { ...this.#slice, related: 'set' }, dialect))
    return this.#bySet.all(inputs)
  }
}

function needsSort(fragment: ReturnType<typeof walkSql>, connection: Connection): boolean {
  return connection.explain(fragment).rows.some(([, , , detail]) => String(detail).includes('TEMP B-TREE'))
}

/** Whether the condition contains one on related rows, in a position where a set of ids can lead to the rows. */
export function followsRelations(condition: Condition): boolean {
  if (condition.kind === 'related') return true
  const isJoined = condition.kind === 'and' || condition.kind === 'or'
  return isJoined && condition.parts.some(followsRelations)
}

/**
 * Whether building the sets of ids reads no more rows than the list has: because an index leads to them, or because their
 * collections are no larger.
 */
function prefersSets(
  { collection, rows }: WholeList,
  { totals, walkedRows }: Pick<InlineContext, 'totals' | 'walkedRows'>,
): boolean {
  const maxScanned = Math.max(walkedRows, totals.of(collection.name))
  return scannedForSets(rows).every(name => totals.of(name) <= maxScanned)
}

/** The form in which one statement reads the list. */
export function relatedForm(
  shape: WholeList,
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
): RelatedForm {
  return followsRelations(shape.rows) && prefersSets(shape, context) ? 'set' : 'exists'
}

const scannedByCondition = new WeakMap<Condition, readonly string[]>()

/** The collections that are scanned to build the sets. */
function scannedForSets(condition: Condition): readonly string[] {
  const cached = scannedByCondition.get(condition)
  if (cached) return cached
  const names = new Set<string>()
  addScanned(condition, names)
  const scanned = [...names]
  scannedByCondition.set(condition, scanned)
  return scanned
}

function addScanned(condition: Condition, names: Set<string>): void {
  if (condition.kind === 'and' || condition.kind === 'or') {
    for (const part of condition.parts) addScanned(part, names)
  } else if (condition.kind === 'related') {
    const { target } = condition.path
    if (!isIndexable(condition.rows, target)) names.add(target.name)
    addScanned(condition.rows, names)
  }
}

/** Whether an index leads to the rows for which the condition holds. */
function isIndexable(condition: Condition, collection: Collection): boolean {
  return implies(condition, leaf => {
    if (leaf.kind === 'compare')
      return indexableOperators.has(leaf.operator) && isIndexed(collection, leaf.field.field.name)
    return leaf.kind === 'related' ? isIndexable(leaf.rows, leaf.path.target) : leaf.kind === 'never'
  })
}

const indexableOperators: ReadonlySet<string> = new Set(['eq', 'in'])
