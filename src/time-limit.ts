/**
 * A bound on how long code of the model may run: a loop without an end would stop the whole process. What takes longer
 * is told to the operator first, and then ended.
 */

/** Thrown in place of a result that took too long. */
export class TimeLimitError extends Error {}

export interface TimeLimit {
  /**
   * Runs synchronous code of the model. Throws a `TimeLimitError` once it has run for the limit.
   * `place`: where the model declares it, e.g. `tasks.prepare`, for the log.
   */
  run<T>(place: string, work: () => T): T
}
