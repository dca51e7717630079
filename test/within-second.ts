/** What is promised within a second, on machines that are busy with other things too. */
import { setTimeout as wait } from 'node:timers/promises'

/** In milliseconds: the second, in rounds of such pauses. */
const PROMISED = 1000
const PAUSE = 50

/**
 * Whether all of them end within a second, as long as the service itself takes for it: each pause ends when `ask` was
 * answered once. On a busy machine it is longer by that, and never shorter. `ask` must not make the service look for news.
 */
export async function endWithinSecond(
  ends: readonly Promise<unknown>[],
  ask: () => Promise<unknown>,
): Promise<boolean> {
  let isOver = false
  const all = Promise.all(ends).then(() => {
    isOver = true
  })
  for (let passed = 0; passed < PROMISED && !isOver; passed += PAUSE) {
    await Promise.race([wait(PAUSE), all])
    if (!isOver) await ask()
  }
  return isOver
}
