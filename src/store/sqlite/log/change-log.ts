/** The log of committed changes, as it is read. `event-log.ts` writes it. */
import { changeColumns, loggedChange } from '../../logged-change.ts'
import { slot, sql } from '../../sql/writer.ts'
import type { Change, Changes, CommitListener, LogBounds } from '../../store.ts'
import { noInputs, slotted } from '../../values.ts'
import type { Connection, Statement } from '../connection.ts'

export class ChangeLog implements Changes {
  readonly #connection: Connection
  readonly #newest: Statement
  readonly #after: Statement
  readonly #listeners = new Set<CommitListener>()

  constructor(connection: Connection) {
    this.#connection = connection
    this.#newest = connection.prepare(sql`SELECT max("id") FROM "_events"`)
    this.#after = connection.prepare(
      sql`SELECT ${changeColumns} FROM "_events" WHERE "id" > ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`,
    )
  }

  last(): number {
    this.#connection.hold()
    return Number(this.#newest.get(noInputs)?.[0] ?? 0)
  }

  after(event: number, limit: number): readonly Change[] {
    this.#connection.hold()
    return this.#after.all(slotted([event, limit])).map(loggedChange)
  }

  bounds(): LogBounds {
    return { pruned: 0, drawn: this.last() }
  }

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  look(): void {
    this.#connection.look()
  }

  tell(from: 'here' | 'elsewhere'): void {
    for (const listener of this.#listeners) listener(from)
  }
}
