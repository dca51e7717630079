/** The only use of an internal function of Node: nothing public runs the queued microtasks. */
const runQueues = Reflect.get(process, '_tickCallback') as () => void

/** Runs what `nextTick` and promises have queued until nothing is left. Call it while no microtask runs. */
export function runMicrotasks(): void {
  runQueues()
}
