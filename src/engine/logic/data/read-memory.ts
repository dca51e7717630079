/** What a run has read outside transactions, to find out whether its changes replace those of others. */
import type { Principal } from '../../../base/principal.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { Collection } from '../../../model/model.ts'

/** A change that has replaced what others had changed since the run has read the item. */
export interface LostUpdate {
  readonly collection: string
  readonly id: number
  /** The fields that it sets, and that it had read; undefined for a deletion. */
  readonly fields: readonly string[] | undefined
}

interface ReadItem {
  /** Who has read it: rules may show others other values. */
  readonly by: string
  readonly values: JsonObject
  readonly atMs: number
}

const maxItems = 1000
const maxTextLength = 200

export class ReadMemory {
  /** By collection and id; what was read last comes last. */
  readonly #items = new Map<string, ReadItem>()
  readonly #maxAgeMs: number
  readonly report: (update: LostUpdate) => void

  /** `maxAgeMs`: of a program, whose reads and writes may have nothing to do with each other. */
  constructor(report: (update: LostUpdate) => void, maxAgeMs = Number.POSITIVE_INFINITY) {
    this.report = report
    this.#maxAgeMs = maxAgeMs
  }

  /** Remembers the stored fields of an item, without documents and long texts. */
  add({ name, fields }: Collection, principal: Principal, item: LogicItem): void {
    const key = `${name}/${item['id']}`
    const values = Object.fromEntries(
      Object.entries(item).filter(([field, value]) => field !== 'id' && fields.has(field) && isShort(value)),
    )
    this.#items.delete(key)
    this.#items.set(key, { by: keyOf(principal), values, atMs: performance.now() })
    if (this.#items.size > maxItems) this.#items.delete(this.#items.keys().next().value ?? '')
  }

  /** The fields of an item as the principal has read them. `names`: of those; omitted: all. */
  valuesOf(
    { name }: Collection,
    principal: Principal,
    id: number,
    names?: readonly string[],
  ): JsonObject | undefined {
    const read = this.#items.get(`${name}/${id}`)
    if (read === undefined || read.by !== keyOf(principal)) return undefined
    if (performance.now() - read.atMs > this.#maxAgeMs) return undefined
    const entries = Object.entries(read.values).filter(([field]) => names?.includes(field) ?? true)
    return entries.length === 0 ? undefined : Object.fromEntries(entries)
  }

  /** For code that changes items by other means. */
  clear(): void {
    this.#items.clear()
  }
}

function keyOf({ userId, access, app }: Principal): string {
  return `${userId} ${access.key} ${app?.id}`
}

function isShort(value: JsonValue): boolean {
  return typeof value === 'string'
    ? value.length <= maxTextLength
    : typeof value !== 'object' || value === null
}
