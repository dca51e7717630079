/** Checks that connections end within a second, on busy machines too. */
import { setTimeout as wait } from 'node:timers/promises'

const limitMs = 1000
const pauseMs = 50

/**
 * Whether all `ends` resolve within a second of pauses. After each pause, `ask` sends the service a request and waits for
 * the response, so a busy machine lengthens the second. `ask` must not make the service look for changes.
 */
export async function endWithinSecond(
  ends: readonly Promise<unknown>[],
  ask: () => Promise<unknown>,
): Promise<boolean> {
  let isOver = false
  const all = Promise.all(ends).then(() => {
    isOver = true
  })
  for (let passedMs = 0; passedMs < limitMs && !isOver; passedMs += pauseMs) {
    await Promise.race([wait(pauseMs), all])
    if (!isOver) await ask()
  }
  return isOver
}
