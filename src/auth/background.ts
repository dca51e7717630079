/** Work that no request waits for, so that its duration reveals nothing. */

export type Background = (work: () => Promise<void>) => void

export interface BackgroundWork {
  readonly background: Background
  /** Resolves when all work that was started is done. */
  idle(): Promise<void>
}

export function createBackground(onFault: (error: unknown) => void): BackgroundWork {
  const running = new Set<Promise<void>>()
  return {
    background(work) {
      const job = work()
        .catch(onFault)
        .finally(() => running.delete(job))
      running.add(job)
    },
    async idle() {
      await Promise.all(running)
    },
  }
}
