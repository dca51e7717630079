/** Deletes, with what they take along: rows that cascade, and references that are cleared, each with its event. */
import { ApiError } from '../../errors.ts'
import type { Collection, Field, ToOne } from '../../model/model.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import type { Statement } from '../connection.ts'
import { conditionSql } from '../sql/condition.ts'
import { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { sqlite } from '../sql/sqlite.ts'
import { checksSql, deleteSql, eventSql, referringSql, rowSql } from '../sql/write.ts'
import { arg, name, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import { requireChecks, requireMatch } from './checks.ts'
import type { WriteContext, WriteRun } from './context.ts'

export function deleteRun(shape: GuardedDelete, context: WriteContext, removal: Removal): WriteRun {
  const { collection, before, ifMatch, rows, representation } = shape
  const row = new Row(sqlite, collection.name)
  const visible = sql`(${conditionSql(rows, row)})`
  const shown = ifMatch === undefined ? ['NULL'] : row.dialect.text(objectSql(representation, row))
  const outputs = [visible, shown, ...checksSql(before, row)]
  const look = context.connection.prepare(rowSql(row, arg(shape.id, 'number'), outputs))
  return (plan, now) => {
    const { args, principal } = plan
    const stored = look.get({ args, userId: principal.userId, slots: [] })
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    requireChecks(before, stored, 2)
    if (ifMatch !== undefined) requireMatch(args[ifMatch], stored[1])
    const id = Number(args[shape.id])
    return { id, text: null, ...removal.remove(collection, id, now) }
  }
}

interface Referrer {
  readonly collection: Collection
  readonly field: Field
  readonly onDelete: ToOne['onDelete']
  readonly rows: Statement
  readonly clear: Statement
}

/** A row that goes, or one whose reference is cleared. */
interface Doomed {
  readonly collection: Collection
  readonly id: number
}

interface Outcome {
  readonly changed: Set<string>
  readonly removed: Set<string>
}

/** Takes rows out of collections, with all that depends on them. */
export class Removal {
  readonly #context: WriteContext
  readonly #referrers = new Map<string, readonly Referrer[]>()
  readonly #statements = new Map<string, { readonly state: Statement; readonly remove: Statement }>()

  constructor(context: WriteContext) {
    this.#context = context
  }

  /** Throws CONFLICT when a row that must not lose its reference refers to one that goes. */
  remove(collection: Collection, id: number, now: string): Outcome {
    const outcome: Outcome = { changed: new Set(), removed: new Set() }
    const doomed = this.#collect({ collection, id })
    for (const each of doomed) this.#clear(each, doomed, now, outcome)
    for (const each of doomed) this.#log(each, now)
    // The first takes the others along; those that only a cleared or shared path leads to go by themselves.
    for (const each of doomed) {
      this.#of(each.collection).remove.run(slots([each.id]))
      outcome.changed.add(each.collection.name)
      outcome.removed.add(each.collection.name)
    }
    return outcome
  }

  /** The row and all that cascade from it, each once. */
  #collect(first: Doomed): readonly Doomed[] {
    const doomed: Doomed[] = [first]
    const seen = new Set([keyOf(first)])
    for (let index = 0; index < doomed.length; index++) {
      const each = doomed[index]
      if (each === undefined) break
      for (const referrer of this.#referrersOf(each.collection)) {
        if (referrer.onDelete === 'clear') continue
        for (const row of referrer.rows.all(slots([each.id]))) {
          const next = { collection: referrer.collection, id: Number(row[0]) }
          if (seen.has(keyOf(next))) continue
          if (referrer.onDelete === 'restrict') throw stillReferred(each, referrer)
          seen.add(keyOf(next))
          doomed.push(next)
        }
      }
    }
    return doomed
  }

  #clear(each: Doomed, doomed: readonly Doomed[], now: string, outcome: Outcome): void {
    for (const { collection, field, onDelete, rows, clear } of this.#referrersOf(each.collection)) {
      if (onDelete !== 'clear') continue
      const gone = new Set(doomed.filter(one => one.collection === collection).map(one => one.id))
      for (const [value] of rows.all(slots([each.id]))) {
        const id = Number(value)
        clear.run(slots([id, now]))
        outcome.changed.add(collection.name)
        if (gone.has(id)) continue
        const data = this.#state({ collection, id })
        const changed = [field, collection.fields.get('updated_at')].flatMap(one =>
          one === undefined || one.internal || one.writeOnly ? [] : [one.name],
        )
        this.#context.events.add({
          at: now,
          collection: collection.name,
          itemId: id,
          kind: 'updated',
          data,
          changed,
        })
      }
    }
  }

  #log(each: Doomed, now: string): void {
    const data = this.#state(each)
    const { collection, id } = each
    this.#context.events.add({
      at: now,
      collection: collection.name,
      itemId: id,
      kind: 'deleted',
      data,
      changed: undefined,
    })
  }

  #state({ collection, id }: Doomed): SqlValue {
    return this.#of(collection).state.get(slots([id]))?.[0] ?? null
  }

  #of(collection: Collection) {
    const known = this.#statements.get(collection.name)
    if (known) return known
    const { connection } = this.#context
    const row = new Row(sqlite, collection.name)
    const made = {
      state: connection.prepare(rowSql(row, slot(0), [eventSql(collection, row)])),
      remove: connection.prepare(deleteSql(collection.name, slot(0))),
    }
    this.#statements.set(collection.name, made)
    return made
  }

  #referrersOf(target: Collection): readonly Referrer[] {
    const known = this.#referrers.get(target.name)
    if (known) return known
    const made = [...this.#context.model.collections.values()].flatMap(collection =>
      [...collection.fields.values()].flatMap(field =>
        field.reference?.target === target.name ? [this.#referrer(collection, field, field.reference)] : [],
      ),
    )
    this.#referrers.set(target.name, made)
    return made
  }

  #referrer(collection: Collection, field: Field, { onDelete }: ToOne): Referrer {
    const { connection } = this.#context
    const limit = onDelete === 'restrict' ? 2 : Number.POSITIVE_INFINITY
    const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
    const clear = sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)}`
    return {
      collection,
      field,
      onDelete,
      rows: connection.prepare(referringSql(collection.name, field.name, slot(0), limit)),
      clear: connection.prepare(field.optional ? clear : sql`SELECT ${slot(0)}`),
    }
  }
}

function keyOf({ collection, id }: Doomed): string {
  return `${collection.name} ${id}`
}

function stillReferred({ collection, id }: Doomed, referrer: Referrer): ApiError {
  const message = `Items of ${referrer.collection.name} still refer to item ${id} of ${collection.name}, by ${referrer.field.name}.`
  return new ApiError('CONFLICT', message)
}

function slots(values: readonly SqlValue[]) {
  return { args: [], userId: null, slots: values }
}
