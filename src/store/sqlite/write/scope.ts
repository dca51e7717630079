/** A write within a transaction on SQLite, whose statements are synchronous. */
import type { AnswerBound } from '../../../plan/answer-bound.ts'
import type { Inputs } from '../../values.ts'
import type { ItemChange } from '../../write/event.ts'
import type { WriteScope } from '../../write/steps.ts'
import type { EventLog } from '../log/event-log.ts'
import type { Statement } from '../statement.ts'

/** All writes use it, one after the other. */
export class SqliteScope implements WriteScope<Statement> {
  readonly #events: EventLog
  at = ''
  now = 0
  /** Not used: `Connection.changes` counts the changes. */
  hasChanged = false
  answerBound: AnswerBound | undefined
  /** Whether an action runs within the transaction: others would read uncommitted data. */
  isInAsyncStep = false

  constructor(events: EventLog) {
    this.#events = events
  }

  log(change: ItemChange): void {
    this.#events.add(this.at, change)
  }

  /** Triggers maintain the totals. */
  count(): void {}

  defer(statement: Statement, inputs: Inputs): void {
    statement.run(inputs)
  }
}
