/** Rows taken out with what depends on them: rows that cascade, and references that are cleared, each with its event. */
import { ApiError } from '../../errors.ts'
import type { Collection, Field, Model } from '../../model/model.ts'
import { deleteRule } from '../schema/row-security.ts'
import { Row } from '../sql/row.ts'
import { deleteSql, eventSql, referringSql, rowSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import type { Actor, Inputs, SqlValue } from '../values.ts'
import {
  ALL,
  clearedNames,
  Doomed,
  type Item,
  type Outcome,
  type Reference,
  referencesTo,
  stillReferred,
} from '../write/doomed.ts'
import { isForeignKeyFailure } from './failure.ts'
import type { Security } from './security.ts'
import { noInputs, type Statement, slotted, statementOf } from './statement.ts'
import { first, type Scope } from './transaction.ts'

interface Referrer extends Reference {
  /** The ids of the rows that refer to an id, no more of them than the second slot says, locked. */
  readonly rows: Statement
  readonly clear: Statement
}

const defer = statementOf(sql`SET CONSTRAINTS ALL DEFERRED`)
const undefer = statementOf(sql`SET CONSTRAINTS ALL IMMEDIATE`)

interface Statements {
  readonly state: Statement
  readonly remove: Statement
  /** Whether whoever asks may delete a row, by the policy. */
  readonly allows: Statement | undefined
}

export class Removal {
  readonly #model: Model
  readonly #security: Security
  readonly #referrers = new Map<string, readonly Referrer[]>()
  readonly #statements = new Map<string, Statements>()

  constructor(model: Model, security: Security) {
    this.#model = model
    this.#security = security
  }

  /**
   * Asked before anything is removed: the policy of a deletion may look at what goes with the row, and the database
   * asks it when that is gone.
   */
  async allows(collection: Collection, id: number, inputs: Inputs, scope: Scope): Promise<boolean> {
    const { allows } = this.#of(collection)
    return allows === undefined || (await scope.rows(allows, { ...inputs, slots: [id] })).length > 0
  }

  /**
   * Removes a row that is locked. Throws CONFLICT when a row that stays, and must not lose its reference, refers
   * to one that goes. `actor`: on whose behalf; what goes with the row, goes on Portico's own.
   */
  async remove(collection: Collection, id: number, actor: Actor | undefined, scope: Scope): Promise<Outcome> {
    const doomed = await this.#collect({ collection, id }, scope)
    for (const each of doomed.items) await this.#requireUnreferred(each, doomed, scope)
    const removed = new Set(doomed.collections.map(one => one.name))
    const changed = new Set(removed)
    for (const each of doomed.items) await this.#clear(each, doomed, scope, changed)
    await this.#log(doomed, scope)
    const isAlone = doomed.items.length === 1 && doomed.again.length === 0 && changed.size === 1
    await this.#delete(doomed, isAlone ? { actor } : {}, scope)
    for (const one of doomed.collections) scope.count(one.name, -doomed.countOf(one))
    return { changed, removed }
  }

  /** The row and all that cascade from it, each once. */
  async #collect(origin: Item, scope: Scope): Promise<Doomed<Referrer>> {
    const doomed = new Doomed<Referrer>()
    doomed.add(origin)
    // The list grows while it is walked.
    for (const each of doomed.items) {
      for (const referrer of this.#referrersOf(each.collection)) {
        const { collection, onDelete, rows } = referrer
        if (onDelete !== 'cascade') continue
        for (const [value] of await scope.rows(rows, slotted([each.id, ALL]))) {
          const id = Number(value)
          if (!doomed.add({ collection, id })) doomed.again.push({ id, referrer })
        }
      }
    }
    return doomed
  }

  async #requireUnreferred(each: Item, doomed: Doomed<Referrer>, scope: Scope): Promise<void> {
    for (const referrer of this.#referrersOf(each.collection)) {
      if (referrer.onDelete !== 'restrict') continue
      const { collection, rows } = referrer
      // Among one more than those that go is one that stays, if there is any.
      const referring = await scope.rows(rows, slotted([each.id, doomed.countOf(collection) + 1]))
      if (!referring.every(([id]) => doomed.has({ collection, id: Number(id) }))) {
        throw stillReferred(each, referrer)
      }
    }
  }

  async #clear(each: Item, doomed: Doomed<Referrer>, scope: Scope, changed: Set<string>): Promise<void> {
    for (const referrer of this.#referrersOf(each.collection)) {
      if (referrer.onDelete !== 'clear') continue
      const { collection, field, rows, clear } = referrer
      for (const [value] of await scope.rows(rows, slotted([each.id, ALL]))) {
        const id = Number(value)
        if (doomed.has({ collection, id })) continue
        scope.queue(clear, slotted([id, scope.at]))
        changed.add(collection.name)
        await this.#logCleared({ collection, id }, field, scope)
      }
    }
  }

  async #logCleared(item: Item, field: Field, scope: Scope): Promise<void> {
    const { collection, id } = item
    const changed = clearedNames(field, collection)
    const data = await this.#state(item, scope)
    scope.log({ collection: collection.name, itemId: id, kind: 'updated', data, changed })
  }

  async #log({ items }: Doomed<Referrer>, scope: Scope): Promise<void> {
    const states = await Promise.all(items.map(item => this.#state(item, scope)))
    for (const [index, { collection, id }] of items.entries()) {
      const data = states[index] ?? null
      scope.log({ collection: collection.name, itemId: id, kind: 'deleted', data, changed: undefined })
    }
  }

  /**
   * The last found first, and no rings, as on SQLite. Other references may lead any way, so they are checked
   * after the last.
   */
  async #delete({ items, again }: Doomed<Referrer>, by: Pick<Inputs, 'actor'>, scope: Scope): Promise<void> {
    if (items.length > 1) scope.queue(defer, noInputs)
    for (const { id, referrer } of again) {
      if (referrer.field.optional) scope.queue(referrer.clear, slotted([id, scope.at]))
    }
    const done = items.toReversed().map(({ collection, id }) => {
      return scope.rows(this.#of(collection).remove, { ...slotted([id]), ...by })
    })
    if (items.length > 1) done.push(scope.rows(undefer, noInputs))
    const [gone] = await Promise.all(done).catch(cause => {
      throw isForeignKeyFailure(cause) ? referredMeanwhile(cause) : cause
    })
    // It is locked, so it was there: a policy leaves it out.
    if (gone?.length === 0 && items.length === 1) throw new ApiError('FORBIDDEN')
  }

  async #state({ collection, id }: Item, scope: Scope): Promise<SqlValue> {
    return first(await scope.rows(this.#of(collection).state, slotted([id])))[0] ?? null
  }

  #of(collection: Collection) {
    const known = this.#statements.get(collection.name)
    if (known) return known
    const { isOn, dialect } = this.#security
    const row = new Row(dialect, collection.name)
    const table = name(collection.name)
    const made = {
      state: statementOf(rowSql(row, slot(0), [eventSql(collection, row)])),
      remove: statementOf(sql`${deleteSql(collection.name, slot(0))} RETURNING 1`),
      allows: isOn
        ? statementOf(
            sql`SELECT 1 FROM ${table} WHERE "id" = ${slot(0)} AND (${[deleteRule(collection.name, this.#model)]})`,
          )
        : undefined,
    }
    this.#statements.set(collection.name, made)
    return made
  }

  #referrersOf(target: Collection): readonly Referrer[] {
    const known = this.#referrers.get(target.name)
    if (known) return known
    const made = referencesTo(target, this.#model).map(reference => referrerOf(reference))
    this.#referrers.set(target.name, made)
    return made
  }
}

function referrerOf(reference: Reference): Referrer {
  const { collection, field, onDelete } = reference
  const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
  const lock = onDelete === 'cascade' ? sql` FOR UPDATE` : sql` FOR NO KEY UPDATE`
  return {
    ...reference,
    rows: statementOf(sql`${referringSql(collection.name, field.name, slot(0), slot(1))}${lock}`),
    clear: statementOf(
      sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)}`,
    ),
  }
}

function referredMeanwhile(cause: unknown): ApiError {
  return new ApiError('CONFLICT', 'Other items still refer to this one.', { cause })
}
