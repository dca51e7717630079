/** Rows taken out with what depends on them. */
import { ApiError } from '../../errors.ts'
import type { Collection, Model } from '../../model/model.ts'
import { once } from '../once.ts'
import { deleteRule } from '../schema/row-security.ts'
import { deleteSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { type Actor, type Inputs, noInputs, slotted } from '../values.ts'
import type { Cascades } from '../write/cascades.ts'
import { referredElsewhere } from '../write/doomed.ts'
import { RemovalWalk, type Walk, type Walked } from '../write/removal.ts'
import { isForeignKeyFailure } from './failure.ts'
import type { Security } from './security.ts'
import { type Rows, type Statement, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'

const defer = statementOf(sql`SET CONSTRAINTS ALL DEFERRED`)
const undefer = statementOf(sql`SET CONSTRAINTS ALL IMMEDIATE`)

/** Where rows are locked by policies. */
interface LockedStatements {
  /** Gives a row where whoever asks may delete it, by the policy. */
  readonly allows: Statement
  /** Gives a row for the one that it deletes. */
  readonly remove: Statement
}

function lockedStatements({ name: collection }: Collection, model: Model): LockedStatements {
  const rule = [deleteRule(collection, model)]
  return {
    allows: statementOf(sql`SELECT 1 FROM ${name(collection)} WHERE "id" = ${slot(0)} AND (${rule})`),
    remove: statementOf(sql`${deleteSql(collection, slot(0))} RETURNING 1`),
  }
}

export class Removal {
  readonly #walk: RemovalWalk<Statement>
  readonly #isLocked: boolean
  readonly #cascades: Cascades
  readonly #locked: (collection: Collection) => LockedStatements

  constructor(model: Model, { isOn, dialect }: Security, cascades: Cascades) {
    this.#cascades = cascades
    this.#isLocked = isOn
    this.#locked = once(collection => lockedStatements(collection, model))
    this.#walk = new RemovalWalk({
      model,
      dialect,
      prepare: statementOf,
      lock: onDelete => (onDelete === 'cascade' ? sql` FOR UPDATE` : sql` FOR NO KEY UPDATE`),
    })
  }

  /**
   * Asked before anything is removed: the policy of a deletion may look at what goes with the row, and the database
   * asks it when that is gone.
   */
  async allows(collection: Collection, id: number, inputs: Inputs, scope: Scope): Promise<boolean> {
    if (!this.#isLocked) return true
    return (await scope.rows(this.#locked(collection).allows, { ...inputs, slots: [id] })).length > 0
  }

  /**
   * Removes a row that is locked. Throws CONFLICT when a row that stays, and must not lose its reference, refers
   * to one that goes. `actor`: on whose behalf; what goes with the row, goes on Portico's own.
   */
  async remove(
    collection: Collection,
    id: number,
    actor: Actor | undefined,
    scope: Scope,
  ): Promise<Walked<Statement>> {
    const startedAt = performance.now()
    const walk = this.#walk.walk({ collection, id }, scope.at, event => scope.log(event))
    const walked = await answered(walk, scope)
    const { items, again } = walked.doomed
    const isAlone = items.length === 1 && again.length === 0 && walked.cleared.size === 0
    if (this.#isLocked && isAlone) await this.#deleteAlone(collection, id, actor, scope)
    else await this.#delete(walked, scope)
    const { doomed } = walked
    for (const one of doomed.collections) scope.count(one.name, -doomed.countOf(one))
    this.#cascades.note({ collection, id }, walked, startedAt)
    return walked
  }

  async #deleteAlone(
    collection: Collection,
    id: number,
    actor: Actor | undefined,
    scope: Scope,
  ): Promise<void> {
    const inputs = { ...slotted([id]), actor }
    const gone = await scope.rows(this.#locked(collection).remove, inputs).catch(cause => {
      throw isForeignKeyFailure(cause) ? referredElsewhere(cause) : cause
    })
    // It is locked, so it was there: a policy leaves it out.
    if (gone.length === 0) throw new ApiError('FORBIDDEN')
  }

  /**
   * The last found first, and no rings, as on SQLite. Other references may lead any way, so they are checked
   * after the last.
   */
  async #delete({ doomed: { items, again } }: Walked<Statement>, scope: Scope): Promise<void> {
    if (items.length > 1) scope.queue(defer, noInputs)
    for (const { id, referrer } of again) {
      if (referrer.field.optional) scope.queue(referrer.clear, slotted([id, scope.at]))
    }
    const done = items.toReversed().map(({ collection, id }) => {
      return scope.rows(this.#walk.statements(collection).remove, slotted([id]))
    })
    if (items.length > 1) done.push(scope.rows(undefer, noInputs))
    await Promise.all(done).catch(cause => {
      throw isForeignKeyFailure(cause) ? referredElsewhere(cause) : cause
    })
  }
}

/** So many statements are sent together at most: an answer to all of them must come in time. */
const MOST = 1000

/** Walks to the end, each step in as few trips as may be. */
async function answered<T>(walk: Walk<Statement, T>, scope: Scope): Promise<T> {
  let step = walk.next()
  while (!step.done) {
    const rows: Rows[] = []
    for (let at = 0; at < step.value.length; at += MOST) {
      const asks = step.value.slice(at, at + MOST)
      rows.push(...(await Promise.all(asks.map(ask => scope.rows(ask.statement, slotted(ask.slots))))))
    }
    step = walk.next(rows)
  }
  return step.value
}
