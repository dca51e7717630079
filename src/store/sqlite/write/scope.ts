/** One write within a transaction on SQLite, where every statement is answered at once. */
import type { Inputs } from '../../values.ts'
import type { ItemChange } from '../../write/event.ts'
import type { WriteScope } from '../../write/steps.ts'
import type { Statement } from '../connection.ts'
import type { EventLog } from '../log/event-log.ts'

/** Serves all writes of all transactions, one after the other. */
export class SqliteScope implements WriteScope<Statement> {
  readonly #events: EventLog
  at = ''
  now = 0
  /** The connection counts the changes itself. */
  hasChanged = false
  /** Whether code of the model runs within the transaction: what others would read is not committed. */
  isActing = false

  constructor(events: EventLog) {
    this.#events = events
  }

  log(change: ItemChange): void {
    this.#events.add(this.at, change)
  }

  /** Totals are counted when they are asked for. */
  count(): void {}

  defer(statement: Statement, inputs: Inputs): void {
    statement.run(inputs)
  }
}
