/** Work other than writes of items, in the same commits. */
import { ApiError } from '../../errors.ts'
import type { Steps, WriteScope } from './steps.ts'
import { none, type Written } from './written.ts'

/** The result of work other than a write of items. */
export interface WorkDone<T> {
  readonly value: T
  /** The names whose versions increase. */
  readonly changed: ReadonlySet<string>
}

export type WorkSteps<S, T> = (scope: WriteScope<S>) => Steps<S, WorkDone<T>>

/** Work that does nothing, where a commit is wanted for its own sake. */
export function* nothing<S>(): Steps<S, WorkDone<undefined>> {
  yield []
  return { value: undefined, changed: none }
}

/** Runs such work within the next commit, perhaps several times. `add` settles once the commit is durable. */
export async function doWork<S, T>(
  steps: WorkSteps<S, T>,
  add: (run: (scope: WriteScope<S>) => Steps<S, Written>) => Promise<unknown>,
): Promise<T> {
  let done: WorkDone<T> | undefined
  await add(function* work(scope) {
    done = yield* steps(scope)
    return { id: 0, text: null, changed: done.changed, removed: none, quiet: true }
  })
  if (done === undefined) throw new ApiError('INTERNAL_ERROR')
  return done.value
}
