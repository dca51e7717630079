/** Runs guarded writes as steps: see `steps.ts`. */
import type { GuardedWrite } from '../../plan/guarded.ts'
import { memoised } from '../memoised.ts'
import { createRun } from './create.ts'
import type { WriteDatabase } from './database.ts'
import { deleteRun } from './delete.ts'
import { type CascadeOptions, Cascades } from './removal/cascades.ts'
import { Removal } from './removal.ts'
import type { QuerySteps, WriteRun, WriteScope } from './steps.ts'
import { updateRun } from './update.ts'
import type { WriteResult } from './written.ts'

export class Writes<S> {
  readonly #cascades: Cascades
  readonly #runOf: (shape: GuardedWrite['shape']) => WriteRun<S>

  constructor(database: WriteDatabase<S>, cascades: CascadeOptions | undefined) {
    this.#cascades = new Cascades(cascades)
    const removal = new Removal(database, this.#cascades)
    this.#runOf = memoised(shape => runOf(shape, database, removal))
  }

  run(plan: GuardedWrite, scope: WriteScope<S>): QuerySteps<S, WriteResult> {
    return this.#runOf(plan.shape)(plan, scope)
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
