/**
 * Ends code of the model that V8 could not end. V8's end is lost where it hits Node's own callback for a promise that is
 * rejected before somebody handles it: a loop which does little else goes on. That callback reads `process.domain`, from
 * which such a loop is noticed; it is then left waiting for a promise that never settles.
 */

const never = new Promise<never>(() => {})

/** Whatever waits for a promise from now on waits for ever. Returns what makes them usual again. */
function stopPromises(): () => void {
  const { prototype } = Promise
  const { then: usualThen, constructor: usualConstructor } = prototype
  const change = (then: unknown, value: unknown) => {
    Object.defineProperty(prototype, 'then', { value: then, writable: true, configurable: true })
    Object.defineProperty(prototype, 'constructor', { value, writable: true, configurable: true })
  }
  // `await` takes a promise as it is while its constructor is `Promise`; any other it asks by `then`.
  change(function (this: Promise<unknown>) {
    // Somebody waits for it, so that it is not reported as unhandled.
    usualThen.call(this, undefined, () => {})
    return never
  }, undefined)
  return () => change(usualThen, usualConstructor)
}

/** Runs the work. Returns whether it was ended, after a time when V8 should have. */
export function endingLate(work: () => void, limitMs: number): boolean {
  const usual = Object.getOwnPropertyDescriptor(process, 'domain')
  // Somebody uses domains: theirs is the property.
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
