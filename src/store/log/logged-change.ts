/** A row of the event log as its readers have it. */
import { sql } from '../sql/writer.ts'
import type { Change } from '../store.ts'
import type { ResultRow, SqlValue } from '../values.ts'

/** In the order in which `loggedChange` takes them. */
export const changeColumns = sql`"id", "collection", "kind", "item_id", "data", "before", "changed", "at", "user_id", "app_id", "type"`

export function loggedChange(row: ResultRow): Change {
  const [event, collection, kind, id, data, before, changed, at, userId, appId, type] = row
  let names: readonly string[] | null | undefined
  return {
    event: Number(event),
    collection: String(collection),
    kind: kind as Change['kind'],
    id: Number(id),
    row: String(data),
    before: textOf(before),
    // Parsed when it is asked for: most readers do not.
    get changed() {
      names ??= typeof changed === 'string' ? (JSON.parse(changed) as readonly string[]) : null
      return names
    },
    at: String(at),
    userId: numberOf(userId),
    appId: numberOf(appId),
    type: textOf(type),
  }
}

function textOf(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function numberOf(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
