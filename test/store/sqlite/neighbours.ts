/** Neighbours that share the number of their commits, and no lock. */
import type { Neighbours } from '../../../src/store/sqlite/neighbours.ts'

export function neighboursIn(words: Int32Array): Neighbours {
  return {
    commits: () => Atomics.load(words, 0),
    committed: () => void Atomics.add(words, 0, 1),
    failures: () => 0,
    failed() {},
    lock: { take: () => true, release() {} },
  }
}
