/** Work that no request waits for, so that its duration reveals nothing. */
export type Background = (work: () => Promise<void>) => void

export interface BackgroundWork {
  readonly background: Background
  /** Resolves when no work is left, including what other work has started. */
  idle(): Promise<void>
}

/** `onFault`: called with the error of work that fails; other work continues. */
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
      while (running.size > 0) await Promise.all(running)
    },
  }
}
