/**
 * How often a device may poll the token endpoint (RFC 8628, 3.2 and 3.5). Polls are stored as records, so that all nodes
 * count them together.
 */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records } from '../../../base/records.ts'
import { secretHash } from '../secret.ts'

const recordKind = 'DevicePoll'

/** The first interval, and what each `slow_down` adds to it. */
export const pollIntervalSeconds = 5

/** How much earlier a poll may arrive because of network delays. */
const leewayMs = 500

interface Poll {
  readonly at: EpochMs
  /** The interval that the device must wait after it. */
  readonly intervalMs: number
}

const firstIntervalMs = pollIntervalSeconds * 1000

/**
 * Records a poll and returns whether it came too early, which lengthens the interval. Of parallel polls, one counts as the
 * first. `lifeMs`: the lifetime of the code.
 */
export async function isTooFast(
  records: Records,
  deviceCode: string,
  lifeMs: number,
  now = Date.now(),
): Promise<boolean> {
  const key = { kind: recordKind, id: secretHash(deviceCode) }
  for (;;) {
    const record = await records.get(key.kind, key.id)
    if (!record) {
      const payload = JSON.stringify({ at: now, intervalMs: firstIntervalMs } satisfies Poll)
      if (await records.add({ ...key, payload, expiresAt: now + lifeMs })) return false
      continue
    }
    const { at, intervalMs } = JSON.parse(record.payload) as Poll
    const isEarly = now - at < intervalMs - leewayMs
    const poll: Poll = {
      at: Math.max(at, now),
      intervalMs: isEarly ? intervalMs + firstIntervalMs : intervalMs,
    }
    if (await records.swap(key, record.payload, JSON.stringify(poll))) return isEarly
  }
}

/** The response to a poll that came too early. */
export const tooFast = {
  error: 'slow_down',
  error_description: `wait ${pollIntervalSeconds} seconds longer than before between two requests`,
}
