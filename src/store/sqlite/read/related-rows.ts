/**
 * Lists with conditions on related rows. Two statements find the same rows, and neither is always quick: one walks
 * along the list's order and looks up what each row refers to, which is quick where many rows match; the other makes the
 * set of ids that match and begins there, which is quick where few do. So the list is walked first, for a bounded number
 * of rows, unless its total says that it would not be enough. See decisions/related-filters.md.
 */
import { isIndexed } from '../../../model/indexes.ts'
import type { Collection } from '../../../model/model.ts'
import type { Condition, GuardedList } from '../../../plan/guarded.ts'
import type { SliceSize, WholeList } from '../../read/database.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { listSql, type Slice, walkSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Inputs, ResultRow } from '../../values.ts'
import type { Connection, Statement } from '../connection.ts'
import type { InlineContext, InlineStatement } from './inline-statement.ts'

interface Context extends InlineContext {
  /** With `budgetCheck` where a statement may have to be ended. */
  readonly dialect: Dialect
}

/** The rows of a slice, found in the way that suits the list. */
export class RelatedRows implements InlineStatement {
  readonly #shape: GuardedList
  readonly #slice: Slice
  readonly #size: SliceSize
  readonly #context: Context
  #byLookUp: Statement | undefined
  #bySet: Statement | undefined
  /** Null: no index has the list's order, so that to walk it would be to sort it. */
  #walk: Statement | null | undefined

  constructor(shape: GuardedList, slice: Slice, size: SliceSize, context: Context) {
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
    const whole = totals.of(this.#shape.collection.name)
    if (whole <= walkedRows || !prefersSets(this.#shape, this.#context)) {
      this.#byLookUp ??= connection.prepare(listSql(this.#shape, this.#slice, dialect))
      return this.#byLookUp.all(inputs)
    }
    const rows = this.#isNear(inputs, total, whole) ? this.#walked(inputs) : undefined
    return rows ?? this.#fromSet(inputs)
  }

  /** Whether enough rows that match are to be expected among the first. */
  #isNear(inputs: Inputs, total: number | undefined, whole: number): boolean {
    if (total === undefined) return true
    const wanted = this.#size.skipped(inputs) + this.#size.rows(inputs)
    return 2 * wanted * whole <= this.#context.walkedRows * total
  }

  /** Undefined where fewer than are asked for were found. */
  #walked(inputs: Inputs): readonly ResultRow[] | undefined {
    if (this.#walk === undefined) {
      const { connection, walkedRows } = this.#context
      const fragment = walkSql(this.#shape, this.#slice, walkedRows, sqlite)
      this.#walk = sorts(fragment, connection) ? null : connection.prepare(fragment)
    }
    const rows = this.#walk?.all(inputs)
    return rows?.length === this.#size.rows(inputs) ? rows : undefined
  }

  #fromSet(inputs: Inputs): readonly ResultRow[] {
    const { connection, dialect } = this.#context
    this.#bySet ??= connection.prepare(listSql(this.#shape, { ...this.#slice, related: 'set' }, dialect))
    return this.#bySet.all(inputs)
  }
}

function sorts(fragment: ReturnType<typeof walkSql>, connection: Connection): boolean {
  return connection.explain(fragment).rows.some(([, , , detail]) => String(detail).includes('TEMP B-TREE'))
}

/** Whether a condition on related rows stands where a set of ids can lead to the rows. */
export function followsRelations(condition: Condition): boolean {
  if (condition.kind === 'related') return true
  const isJoined = condition.kind === 'and' || condition.kind === 'or'
  return isJoined && condition.conditions.some(followsRelations)
}

/**
 * Whether the sets of ids are made without reading more rows than the list has: by an index, or from a collection that
 * is no larger.
 */
export function prefersSets(
  { collection, rows }: WholeList,
  { totals, walkedRows }: Pick<InlineContext, 'totals' | 'walkedRows'>,
): boolean {
  const most = Math.max(walkedRows, totals.of(collection.name))
  return scannedForSets(rows).every(name => totals.of(name) <= most)
}

/** How a list is read in one statement. */
export function relatedForm(
  shape: WholeList,
  context: Pick<InlineContext, 'totals' | 'walkedRows'>,
): RelatedForm {
  return followsRelations(shape.rows) && prefersSets(shape, context) ? 'set' : 'exists'
}

const scannedByCondition = new WeakMap<Condition, readonly string[]>()

/** The collections that are read whole to make the sets. */
function scannedForSets(condition: Condition): readonly string[] {
  const known = scannedByCondition.get(condition)
  if (known) return known
  const found = new Set<string>()
  gatherScanned(condition, found)
  const made = [...found]
  scannedByCondition.set(condition, made)
  return made
}

function gatherScanned(condition: Condition, found: Set<string>): void {
  if (condition.kind === 'and' || condition.kind === 'or') {
    for (const each of condition.conditions) gatherScanned(each, found)
  } else if (condition.kind === 'related') {
    const { target } = condition.path
    if (!isLed(condition.rows, target)) found.add(target.name)
    gatherScanned(condition.rows, found)
  }
}

/** Whether an index leads to the rows for which the condition holds. */
function isLed(condition: Condition, collection: Collection): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.some(each => isLed(each, collection))
    case 'or':
      return condition.conditions.every(each => isLed(each, collection))
    case 'compare':
      return leading.has(condition.operator) && isIndexed(collection, condition.field.field.name)
    case 'related':
      return isLed(condition.rows, condition.path.target)
    default:
      return condition.kind === 'never'
  }
}

const leading: ReadonlySet<string> = new Set(['eq', 'in'])
