/**
 * Keeps `process.nextTick`, which every request calls several times, fast for the life of the process.
 *
 * V8 remembers weakly the hidden class of the object that `nextTick` makes. Between requests no such object is
 * alive, so the first full garbage collection may drop the class; V8 then takes the object for one of many forms,
 * for good, and each call costs six times as much: a tenth of a small request. One object that stays alive
 * keeps the class.
 */
import { createHook } from 'node:async_hooks'

const kept: object[] = []

/** Does its work once, however often it is called. */
export function keepTicksSteady(): void {
  if (kept.length > 0) return
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') kept.push(resource)
    },
  })
  hook.enable()
  process.nextTick(() => {})
  hook.disable()
}
