/** Runs guarded writes as steps: see `steps.ts`. */

import { isPortico } from '../../../base/principal.ts'
import type { Model } from '../../../model/model.ts'
import type { AnswerBound } from '../../plan/answer-bound.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import type { Emission } from '../../plan/transaction.ts'
import { memoised } from '../memoised.ts'
import { CommittedFacts } from './committed-facts.ts'
import { createRun } from './create.ts'
import type { WriteDatabase } from './database.ts'
import { deleteRun } from './delete.ts'
import type { ItemChange } from './event.ts'
import { type CascadeOptions, Cascades } from './removal/cascades.ts'
import { Removal } from './removal/removal.ts'
import { RowStates, stateAt } from './row-states.ts'
import type { QuerySteps, WriteRun, WriteScope } from './steps.ts'
import { changeOf } from './transaction.ts'
import { updateRun } from './update.ts'
import type { WriteResult } from './written.ts'

/** The checks of many items may together take this many times as long as one. */
const checksAtOnce = 5

export class Writes<S> {
  readonly #cascades: Cascades
  readonly #runOf: (shape: GuardedWrite['shape']) => WriteRun<S>
  readonly #states: RowStates<S>
  readonly #facts: CommittedFacts<S>
  readonly #model: Model
  /** How long the checks of one transaction may take where they block other requests; 0 without any, in milliseconds. */
  readonly checksMs: number

  constructor(database: WriteDatabase<S>, cascades: CascadeOptions | undefined) {
    this.#cascades = new Cascades(cascades)
    this.#states = new RowStates(database)
    this.#model = database.model
    this.checksMs = (database.checks?.limitMs ?? 0) * checksAtOnce
    this.#facts = new CommittedFacts(database.model, this.#states)
    const removal = new Removal(database, this.#cascades, this.#states)
    this.#runOf = memoised(shape => runOf(shape, database, removal))
  }

  /** Throws ANSWER_TOO_LARGE if the answers of the transaction have too many bytes. */
  *run(plan: GuardedWrite, scope: WriteScope<S>, answerBound: AnswerBound): QuerySteps<S, WriteResult> {
    scope.answerBound = isPortico(plan.principal) ? undefined : answerBound
    const result = yield* this.#runOf(plan.shape)(plan, scope)
    // See `Dialect.boundedText`.
    if (result.text === '') throw answerBound.refusal()
    if (!isPortico(plan.principal)) answerBound.add(result.text)
    return result
  }

  /** See `Cascades.newStep`. */
  newStep(): (cascaded: number | undefined) => void {
    return this.#cascades.newStep()
  }

  /** Logs an event that an action emits. */
  *emit(emission: Emission, scope: WriteScope<S>): QuerySteps<S, void> {
    const collection = this.#model.collections.get(emission.collection)
    const hasFacts = collection !== undefined && this.#states.hasFacts(collection)
    const [rows] = hasFacts ? yield [this.#states.query(collection, emission.itemId, scope)] : []
    scope.log(changeOf(emission, stateAt(rows?.[0], 0).facts))
  }

  /** See `CommittedFacts`. */
  settle(changes: readonly ItemChange[], scope: WriteScope<S>): QuerySteps<S, readonly ItemChange[]> {
    return this.#facts.settle(changes, scope)
  }

  /** The number of items that were deleted, or lost a reference, with another one. */
  get cascaded(): number {
    return this.#cascades.items
  }
}

function runOf<S>(
  shape: GuardedWrite['shape'],
  database: WriteDatabase<S>,
  removal: Removal<S>,
): WriteRun<S> {
  switch (shape.kind) {
    case 'create':
      return createRun(shape, database)
    case 'update':
      return updateRun(shape, database)
    case 'delete':
      return deleteRun(shape, database, removal)
  }
}
