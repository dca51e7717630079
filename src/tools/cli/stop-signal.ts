/** The signals that stop a service. */

/** Ctrl-C reaches the whole process group, and npm and the scripts forward it again: within this time it counts once. */
const repeatedSignalMs = 1000

/** Resolves at the first SIGTERM or SIGINT; a later one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    let firstAt: number | undefined
    const stop = () => {
      if (firstAt !== undefined && performance.now() - firstAt > repeatedSignalMs) process.exit(1)
      firstAt ??= performance.now()
      resolve()
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}
