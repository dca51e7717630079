/** Work other than writes of items, in the same commits. */
import { ApiError } from '../../../base/errors.ts'
import type { QuerySteps, WriteScope } from './steps.ts'
import { none, type WriteResult } from './written.ts'

/** The result of work other than a write of items. */
export interface WorkResult<T> {
  readonly value: T
  /** The names whose versions increase. */
  readonly changed: ReadonlySet<string>
}

export type WorkSteps<S, T> = (scope: WriteScope<S>) => QuerySteps<S, WorkResult<T>>

/** No work: for a commit that only proves that changes can be stored. */
export function* noWork<S>(): QuerySteps<S, WorkResult<undefined>> {
  yield []
  return { value: undefined, changed: none }
}

/** Runs such work within the next commit, perhaps several times. `add` settles once the commit is durable. */
export async function doWork<S, T>(
  steps: WorkSteps<S, T>,
  add: (run: (scope: WriteScope<S>) => QuerySteps<S, WriteResult>) => Promise<unknown>,
): Promise<T> {
  let result: WorkResult<T> | undefined
  await add(function* work(scope) {
    result = yield* steps(scope)
    return { id: 0, text: null, changed: result.changed, removed: none, hasNoEvent: true }
  })
  if (result === undefined) throw new ApiError('INTERNAL_ERROR')
  return result.value
}
