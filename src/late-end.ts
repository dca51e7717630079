/**
 * Ends code of the model that V8 failed to terminate. A termination is lost if it hits Node's own callback for a promise
 * that is rejected without a handler, so that a loop which does little else continues. That callback reads
 * `process.domain`: a getter there detects such a loop, and leaves it waiting for a promise that never settles.
 */

const never = new Promise<never>(() => {})

/** Makes every `then` and `await` wait forever. Returns a function that restores promises. */
function stopPromises(): () => void {
  const { prototype } = Promise
  const { then: usualThen, constructor: usualConstructor } = prototype
  const change = (then: unknown, value: unknown) => {
    Object.defineProperty(prototype, 'then', { value: then, writable: true, configurable: true })
    Object.defineProperty(prototype, 'constructor', { value, writable: true, configurable: true })
  }
  // `await` calls `then` only if the promise's constructor is not `Promise`.
  change(function (this: Promise<unknown>) {
    // A handler, so that it is not reported as unhandled.
    usualThen.call(this, undefined, () => {})
    return never
  }, undefined)
  return () => change(usualThen, usualConstructor)
}

/** Runs the work. Returns whether it had to be ended after `limitMs`, by when V8 should have terminated it. */
export function endingLate(work: () => void, limitMs: number): boolean {
  const usual = Object.getOwnPropertyDescriptor(process, 'domain')
  // The program uses domains: the property is theirs.
  if (usual?.value !== null) {
    work()
    return false
  }
  const until = performance.now() + limitMs
  let restore: (() => void) | undefined
  const notice = () => {
    if (restore === undefined && performance.now() > until) restore = stopPromises()
    return null
  }
  Object.defineProperty(process, 'domain', { get: notice, enumerable: true, configurable: true })
  try {
    work()
  } finally {
    Object.defineProperty(process, 'domain', usual)
    restore?.()
  }
  return restore !== undefined
}
