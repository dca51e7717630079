/**
 * Keeps V8 from deoptimising `process.nextTick`, which every request calls several times.
 *
 * V8 refers weakly to the hidden class of the object that `nextTick` makes. Between requests no such object is alive, so
 * a full garbage collection may drop the class. The call then stays megamorphic for the life of the process and costs six
 * times as much, a tenth of a small request. One object that stays alive preserves the class.
 */
import { createHook } from 'node:async_hooks'

const retained: object[] = []

/** Later calls do nothing. */
export function guardNextTick(): void {
  if (retained.length > 0) return
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') retained.push(resource)
    },
  })
  hook.enable()
  process.nextTick(() => {})
  hook.disable()
}
