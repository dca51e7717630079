/** How the columns of a table differ from those before it. */
import type { Column, Table } from './tables.ts'

export type ColumnChange =
  | { readonly kind: 'add'; readonly is: Column }
  | { readonly kind: 'drop'; readonly was: Column }
  | {
      /** `values`: the allowed values, which are no part of the table. */
      readonly kind: 'rename' | 'type' | 'set not null' | 'drop not null' | 'reference' | 'values'
      readonly was: Column
      readonly is: Column
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
export function isConverted(was: Column, is: Column): boolean {
  return was.sqlite !== is.sqlite || was.encoding.name !== is.encoding.name
}

export function columnsByName(table: Table): ReadonlyMap<string, Column> {
  return new Map(table.columns.map(column => [column.name, column]))
}
