/** Values that may come later. SQLite answers reads synchronously, other databases do not. */

/** A value or a promise of it. */
export type Awaitable<T> = T | Promise<T>

/** Calls `next` with the value: synchronously unless it is a promise, so that the hot path allocates none. */
export function then<T, U>(answer: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}
