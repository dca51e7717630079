/**
 * How often a device may ask whether its code was approved (RFC 8628, 3.2 and 3.5). Kept among the records, so that it
 * counts whichever node is asked.
 */
import type { Records } from '../../records.ts'
import { secretHash } from './secret.ts'

const KIND = 'DevicePoll'

/** What a device hears at first, and by how much more it has to wait each time that it was too fast. */
export const pollIntervalSeconds = 5

/** What the network may take from an interval. */
const leewayMs = 500

interface Poll {
  /** Milliseconds since 1970. */
  readonly at: number
  /** What the device has to wait after that. */
  readonly intervalMs: number
}

const first = pollIntervalSeconds * 1000

/**
 * Notes that a device has asked. Whether it was too fast: each time it has to wait longer. Of several requests at once
 * one counts as the first. `lifeMs`: how long the code lives at most.
 */
export async function isTooFast(
  records: Records,
  deviceCode: string,
  lifeMs: number,
  now = Date.now(),
): Promise<boolean> {
  const key = { kind: KIND, id: secretHash(deviceCode) }
  for (;;) {
    const found = await records.get(key.kind, key.id)
    if (!found) {
      const payload = JSON.stringify({ at: now, intervalMs: first } satisfies Poll)
      if (await records.add({ ...key, payload, expiresAt: now + lifeMs })) return false
      continue
    }
    const { at, intervalMs } = JSON.parse(found.payload) as Poll
    const isEarly = now - at < intervalMs - leewayMs
    const poll: Poll = { at: Math.max(at, now), intervalMs: isEarly ? intervalMs + first : intervalMs }
    if (await records.swap(key, found.payload, JSON.stringify(poll))) return isEarly
  }
}

/** What such a device hears. */
export const tooFast = {
  error: 'slow_down',
  error_description: `wait ${pollIntervalSeconds} seconds longer than before between two requests`,
}
