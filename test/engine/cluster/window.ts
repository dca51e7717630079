/** For tests with exact counts, during which a window must not end. */
import { setTimeout as wait } from 'node:timers/promises'

/** Waits for the next minute if the current one is nearly over. */
export async function earlyInMinute(seconds = 10): Promise<void> {
  const remainingMs = 60_000 - (Date.now() % 60_000)
  if (remainingMs < seconds * 1000) await wait(remainingMs + 50)
}
