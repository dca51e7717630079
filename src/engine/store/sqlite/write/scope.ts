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
  /** The changes of the present transaction of several steps, until its end. */
  #held: ItemChange[] | undefined
  at = ''
  now = 0
  /** Not used: `Connection.changes` counts the changes. */
  hasChanged = false
  answerBound: AnswerBound | undefined
  /** Whether an action runs within the transaction: others would read uncommitted data. */
  #isInAsyncStep = false

  constructor(events: EventLog) {
    this.#events = events
  }

  get isInAsyncStep(): boolean {
    return this.#isInAsyncStep
  }

  /** Runs an action, or a check that reads, perhaps of a write of an action. */
  inAsyncStep(work: () => void): void {
    const isInner = this.#isInAsyncStep
    this.#isInAsyncStep = true
    try {
      work()
    } finally {
      this.#isInAsyncStep = isInner
    }
  }

  log(change: ItemChange): void {
    if (this.#held) this.#held.push(change)
    else this.#events.add(this.at, change)
  }

  /** Runs the steps of one transaction. `settle`: returns its changes as they are to be logged. */
  hold<T>(work: () => T, settle: (changes: readonly ItemChange[]) => readonly ItemChange[]): T {
    const held: ItemChange[] = []
    this.#held = held
    try {
      const value = work()
      for (const change of settle(held)) this.#events.add(this.at, change)
      return value
    } finally {
      this.#held = undefined
    }
  }

  /** Runs a step of the transaction that may be undone alone: its changes are logged only if it succeeds. */
  step<T>(work: () => T): T {
    const count = this.#held?.length ?? 0
    try {
      return work()
    } catch (cause) {
      this.#held?.splice(count)
      throw cause
    }
  }

  /** Triggers maintain the totals. */
  count(): void {}

  defer(statement: Statement, inputs: Inputs): void {
    statement.run(inputs)
  }
}
