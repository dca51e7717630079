/** The differences between the columns of a table before and after a migration. */
import type { Column, Table } from './tables.ts'

export type ColumnChange =
  | { readonly kind: 'add'; readonly newColumn: Column }
  | { readonly kind: 'drop'; readonly oldColumn: Column }
  | {
      /** `values`: the allowed values, which are no part of the table. */
      readonly kind: 'rename' | 'type' | 'set not null' | 'drop not null' | 'reference' | 'values'
      readonly oldColumn: Column
      readonly newColumn: Column
      /** For `values`: whether a formerly allowed value is no longer allowed. */
      readonly narrows?: boolean
    }

/** The old table or column of a new one, by its own or its former name. */
export function predecessor<T extends { readonly name: string; readonly renamedFrom: string | null }>(
  item: T,
  old: ReadonlyMap<string, T>,
): T | undefined {
  return old.get(item.name) ?? (item.renamedFrom === null ? undefined : old.get(item.renamedFrom))
}

/** Whether the values have to be converted. */
export function isConverted(oldColumn: Column, newColumn: Column): boolean {
  return oldColumn.sqlite !== newColumn.sqlite || oldColumn.encoding.name !== newColumn.encoding.name
}

export function columnsByName(table: Table): ReadonlyMap<string, Column> {
  return new Map(table.columns.map(column => [column.name, column]))
}
