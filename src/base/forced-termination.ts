/**
 * Ends code of the model that V8 failed to terminate. A termination is lost if it occurs in Node's own callback for a
 * promise that is rejected without a handler, so a loop that does little else continues. That callback reads
 * `process.domain`: a getter there detects such a loop, and makes it wait for a promise that never settles.
 */

const never = new Promise<never>(() => {})

/** Makes every `then` and `await` wait forever. Returns a function that restores promises. */
function stopPromises(): () => void {
  const { prototype } = Promise
  const { then: originalThen, constructor: originalConstructor } = prototype
  const change = (then: unknown, value: unknown) => {
    Object.defineProperty(prototype, 'then', { value: then, writable: true, configurable: true })
    Object.defineProperty(prototype, 'constructor', { value, writable: true, configurable: true })
  }
  // `await` calls `then` only if the promise's constructor is not `Promise`.
  change(function (this: Promise<unknown>) {
    // A handler, so that it is not reported as unhandled.
    originalThen.call(this, undefined, () => {})
    return never
  }, undefined)
  return () => change(originalThen, originalConstructor)
}

/** Runs the work. Returns whether it had to be ended after `limitMs`, by which time V8 should have terminated it. */
export function runWithForcedTermination(work: () => void, limitMs: number): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(process, 'domain')
  // A program that uses domains needs the property itself.
  if (descriptor?.value !== null) {
    work()
    return false
  }
  const deadline = performance.now() + limitMs
  let restore: (() => void) | undefined
  const onRead = () => {
    if (restore === undefined && performance.now() > deadline) restore = stopPromises()
    return null
  }
  Object.defineProperty(process, 'domain', { get: onRead, enumerable: true, configurable: true })
  try {
    work()
  } finally {
    Object.defineProperty(process, 'domain', descriptor)
    restore?.()
  }
  return restore !== undefined
}
