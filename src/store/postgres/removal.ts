/** Rows taken out with what depends on them. */
import { ApiError } from '../../errors.ts'
import type { Collection, Model } from '../../model/model.ts'
import { postgres } from '../sql/postgres.ts'
import { sql } from '../sql/writer.ts'
import { RemovalWalk, type Walk, type Walked } from '../write/removal.ts'
import { isForeignKeyFailure } from './failure.ts'
import { noInputs, type Rows, type Statement, slotted, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'

const defer = statementOf(sql`SET CONSTRAINTS ALL DEFERRED`)
const undefer = statementOf(sql`SET CONSTRAINTS ALL IMMEDIATE`)

export class Removal {
  readonly #walk: RemovalWalk<Statement>

  constructor(model: Model) {
    this.#walk = new RemovalWalk({
      model,
      dialect: postgres,
      prepare: statementOf,
      lock: onDelete => (onDelete === 'cascade' ? sql` FOR UPDATE` : sql` FOR NO KEY UPDATE`),
    })
  }

  /**
   * Removes a row that is locked. Throws CONFLICT when a row that stays, and must not lose its reference, refers
   * to one that goes.
   */
  async remove(collection: Collection, id: number, scope: Scope): Promise<Walked<Statement>> {
    const walk = this.#walk.walk({ collection, id }, scope.at, event => scope.log(event))
    const walked = await answered(walk, scope)
    await this.#delete(walked, scope)
    const { doomed } = walked
    for (const one of doomed.collections) scope.count(one.name, -doomed.countOf(one))
    return walked
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
      throw isForeignKeyFailure(cause) ? referredMeanwhile(cause) : cause
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

function referredMeanwhile(cause: unknown): ApiError {
  return new ApiError('CONFLICT', 'Other items still refer to this one.', { cause })
}
