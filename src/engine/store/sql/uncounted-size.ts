/**
 * The size of an object without its long values, which are counted one by one (`Dialect.counted`): short texts in very many rows
 * are as large. Never more than the object has, and nothing of a value that a rule may hide.
 */
import { maxBytesOf } from '../../../model/fields/max-bytes.ts'
import type { GuardedSelected } from '../../plan/guarded.ts'
import type { Encoded } from './dialect.ts'
import type { RowAlias } from './row-alias.ts'
import { join, type Sql, sql } from './writer.ts'

/** Values of types up to this size are not counted one by one. */
const maxShortBytes = 1024

export function isCounted(type: Encoded['type']): boolean {
  return maxBytesOf(type) > maxShortBytes
}

/** Quotes, colon and comma around a name, and a value of one character. */
const memberBytes = 5
const bracesBytes = 2
/** An object whose short texts may be larger is counted by itself. */
const minLargeBytes = 2048

export interface UncountedSize {
  readonly ofRow: Sql
  /** An aggregate over the rows. */
  readonly ofRows: Sql
  readonly isLarge: boolean
}

export function uncountedSize(select: readonly GuardedSelected[], row: RowAlias): UncountedSize {
  const fixed = select.reduce((sum, { key }) => sum + key.length + memberBytes, bracesBytes)
  const texts = select.filter(isText)
  const sizes = texts.map(({ field }) => textSize(field.field.type, row.column(field.field.name), row))
  const largest = texts.reduce(
    (sum, { field }) => sum + Math.min(maxShortBytes, maxBytesOf(field.field.type)),
    0,
  )
  const sum = join(sizes, ' + ')
  const fixedSql: Sql = [String(fixed)]
  return {
    ofRow: sizes.length === 0 ? fixedSql : sql`${fixedSql} + ${sum}`,
    ofRows: sizes.length === 0 ? sql`count(*) * ${fixedSql}` : sql`count(*) * ${fixedSql} + total(${sum})`,
    isLarge: largest > minLargeBytes,
  }
}

type SelectedField = Extract<GuardedSelected, { readonly kind: 'field' }>

/** A stored text that every reader of the row may read. */
function isText(selected: GuardedSelected): selected is SelectedField {
  if (selected.kind !== 'field') return false
  const { field, when, computation } = selected.field
  return computation === undefined && when.kind === 'always' && field.type.encoding.maxBytes === undefined
}

function textSize(type: Encoded['type'], column: Sql, { dialect }: RowAlias): Sql {
  const size =
    isCounted(type) && dialect.uncountedBytes ? dialect.uncountedBytes(column) : sql`octet_length(${column})`
  return sql`coalesce(${size}, 0)`
}
