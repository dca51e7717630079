/** Runs guarded writes as steps: see `steps.ts`. */
import type { AnswerBound } from '../../plan/answer-bound.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import { isPortico } from '../../principal.ts'
import { memoised } from '../memoised.ts'
import { createRun } from './create.ts'
import type { WriteDatabase } from './database.ts'
import { deleteRun } from './delete.ts'
import { Cascades, type OnCascade } from './removal/cascades.ts'
import { Removal } from './removal.ts'
import type { QuerySteps, WriteRun, WriteScope } from './steps.ts'
import { updateRun } from './update.ts'
import type { WriteResult } from './written.ts'

export class Writes<S> {
  readonly #cascades: Cascades
  readonly #runOf: (shape: GuardedWrite['shape']) => WriteRun<S>

  constructor(database: WriteDatabase<S>, onCascade: OnCascade | undefined) {
    this.#cascades = new Cascades(onCascade)
    const removal = new Removal(database, this.#cascades)
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
