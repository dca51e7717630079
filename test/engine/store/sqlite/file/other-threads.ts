/** Threads that share the number of their commits, but no lock. */
import type { OtherThreads } from '../../../../../src/engine/store/sqlite/file/other-threads.ts'

export function threadsIn(words: Int32Array): OtherThreads {
  return {
    commits: () => Atomics.load(words, 0),
    committed: () => void Atomics.add(words, 0, 1),
    failures: () => 0,
    addFailure() {},
    lock: { take: () => true, release() {} },
  }
}
