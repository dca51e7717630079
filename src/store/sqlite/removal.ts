/** Rows taken out with what depends on them. */
import type { Collection } from '../../model/model.ts'
import { once } from '../once.ts'
import { sqlite } from '../sql/sqlite.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { slotted } from '../values.ts'
import type { Cascades } from '../write/cascades.ts'
import { type Referrer, RemovalWalk, type Walk, type Walked } from '../write/removal.ts'
import type { Statement } from './connection.ts'
import type { WriteContext } from './context.ts'

export class Removal {
  readonly #context: WriteContext
  readonly #cascades: Cascades
  readonly #walk: RemovalWalk<Statement>
  /** Lets a row refer to no row, while references are checked later: to the negative of its own id, and so to no other row's. */
  readonly #detach: (referrer: Referrer<Statement>) => Statement

  constructor(context: WriteContext, cascades: Cascades) {
    const { model, connection } = context
    this.#context = context
    this.#cascades = cascades
    this.#walk = new RemovalWalk({
      model,
      dialect: sqlite,
      prepare: fragment => connection.prepare(fragment),
      lock: () => [],
    })
    this.#detach = once(({ collection, field }) =>
      connection.prepare(
        sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = -"id" WHERE "id" = ${slot(0)}`,
      ),
    )
  }

  /** Throws CONFLICT when a row that stays, and must not lose its reference, refers to one that goes. */
  remove(collection: Collection, id: number, now: string): Walked<Statement> {
    const { events } = this.#context
    const startedAt = performance.now()
    const walk = this.#walk.walk({ collection, id }, now, event => events.add(now, event))
    const walked = answered(walk)
    this.#delete(walked)
    this.#cascades.note({ collection, id }, walked, startedAt)
    return walked
  }

  /**
   * The last found first, and no rings, so that nothing is left for the tables' own cascades: they nest no
   * deeper than 1,000. Other references may lead any way, so they are checked after the last.
   */
  #delete({ doomed: { items, again } }: Walked<Statement>): void {
    const { connection } = this.#context
    if (items.length > 1) connection.deferReferences(true)
    try {
      if (items.length > 1) for (const { id, referrer } of again) this.#detach(referrer).run(slotted([id]))
      for (const { collection, id } of items.toReversed())
        this.#walk.statements(collection).remove.run(slotted([id]))
    } finally {
      if (items.length > 1) connection.deferReferences(false)
    }
  }
}

/** Walks to the end, answering at once. */
function answered<T>(walk: Walk<Statement, T>): T {
  let step = walk.next()
  while (!step.done) step = walk.next(step.value.map(ask => ask.statement.all(slotted(ask.slots))))
  return step.value
}
