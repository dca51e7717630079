/** The rows of the file store's objects, which name collections and fields, as these are renamed and dropped. */
import { columnsByName, predecessor } from './changes.ts'
import { literal } from './quoted.ts'
import type { Column, Schema, Table } from './tables.ts'

interface ObjectChange {
  readonly collection: string
  readonly field: string
}

export interface ObjectChanges {
  readonly renamed: readonly (ObjectChange & { readonly to: ObjectChange })[]
  readonly dropped: readonly ObjectChange[]
}

/** The fields with files that are renamed or dropped. None if a schema has no files: their rows are created or dropped. */
export function objectChanges(before: Schema, after: Schema): ObjectChanges {
  const hasRows = [before, after].every(({ tables }) => tables.some(({ name }) => name === 'uploads'))
  if (!hasRows) return { renamed: [], dropped: [] }
  const oldTables = new Map(before.tables.map(table => [table.name, table]))
  const kept = new Map<string, ObjectChange>()
  for (const table of after.tables) {
    const from = predecessor(table, oldTables)
    for (const column of table.columns) {
      const old = from && predecessor(column, columnsByName(from))
      if (from && old?.encoding.namesObjects) kept.set(keyOf(from, old), nameOf(table, column))
    }
  }
  const all = before.tables.flatMap(table =>
    table.columns
      .filter(({ encoding }) => encoding.namesObjects)
      .map(column => ({ ...nameOf(table, column), to: kept.get(keyOf(table, column)) })),
  )
  return {
    renamed: all.flatMap(({ to, ...from }) =>
      to && (to.collection !== from.collection || to.field !== from.field) ? [{ ...from, to }] : [],
    ),
    dropped: all.filter(({ to }) => to === undefined),
  }
}

function keyOf({ name }: Table, column: Column): string {
  return `${name}.${column.name}`
}

function nameOf({ name: collection }: Table, { name: field }: Column): ObjectChange {
  return { collection, field }
}

/** In one statement, since two fields may exchange their names. */
export function renameObjects({ renamed }: ObjectChanges): readonly string[] {
  const whens = (member: 'collection' | 'field') =>
    renamed.map(from => `WHEN ${isOf(from)} THEN ${literal(from.to[member])}`).join(' ')
  const all = renamed.map(isOf).join(' OR ')
  return [
    `UPDATE "uploads" SET "collection" = CASE ${whens('collection')} END, "field" = CASE ${whens('field')} END WHERE ${all}`,
  ]
}

/** `now`: the present time as SQL. */
export function dropObjects({ dropped }: ObjectChanges, now: string): readonly string[] {
  const all = dropped.map(isOf).join(' OR ')
  return [`UPDATE "uploads" SET "state" = 'deleted', "ended_at" = ${now} WHERE "state" = 'live' AND (${all})`]
}

function isOf({ collection, field }: ObjectChange): string {
  return `("collection" = ${literal(collection)} AND "field" = ${literal(field)})`
}
