/** How the columns of a table differ from those before it. */
import type { Column, Table } from './tables.ts'

export type ColumnChange =
  | { readonly kind: 'add'; readonly is: Column }
  | { readonly kind: 'drop'; readonly was: Column }
  | {
      /** `values`: which values are allowed, of which a table knows nothing. */
      readonly kind: 'rename' | 'type' | 'set not null' | 'drop not null' | 'reference' | 'values'
      readonly was: Column
      readonly is: Column
      /** Of `values`: whether one that was allowed may not be any more. */
      readonly narrows?: boolean
    }

/** What a thing was, by its own or its old name. */
export function predecessor<T extends { readonly name: string; readonly renamedFrom: string | null }>(
  item: T,
  old: ReadonlyMap<string, T>,
): T | undefined {
  return old.get(item.name) ?? (item.renamedFrom === null ? undefined : old.get(item.renamedFrom))
}

/** Whether values have to be turned into those of another type. */
export function isConverted(was: Column, is: Column): boolean {
  return was.sqlite !== is.sqlite || was.encoding.name !== is.encoding.name
}

export function columnsByName(table: Table): ReadonlyMap<string, Column> {
  return new Map(table.columns.map(column => [column.name, column]))
}
