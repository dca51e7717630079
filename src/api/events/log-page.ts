/** A page of the log, as one listener may see it. */

import { isLogEnd, maxBatchBytes } from '../../engine/log/log-batch.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import { checkResumable } from './resume.ts'
import { type ChangeRenderer, hasTopicFor } from './subscriber.ts'

/** The most batches of the log that one page reads: a listener that may see few of their events still makes progress. */
const maxBatches = 10
const batchSize = 100
/** Changes that are rendered in parallel. */
const sliceSize = 16
/** A page ends before its replies have more bytes than this. */
const maxPageBytes = 4 * 1024 * 1024
/** The longest time for which reading a page blocks the event loop. */
const maxBlockingMs = 5

export interface LogPage {
  readonly replies: readonly string[]
  /** Every event up to this one was read. */
  readonly position: number
  /** Whether the log may have more after it. */
  readonly hasMore: boolean
  /** How many events were read, including those that the listener may not see. */
  readonly scanned: number
}

interface Progress {
  readonly replies: string[]
  readonly limit: number
  readonly maxBytes: number
  position: number
  bytes: number
}

export interface PageRequest {
  readonly after: number
  readonly limit: number
  /** Of all replies together. One that is larger is alone on its page. */
  readonly maxBytes?: number
}

/**
 * Reads the replies to up to `limit` changes after the event `after`. Throws RESYNC_REQUIRED if the log no longer has all
 * of them, and UNAVAILABLE during a database outage.
 */
export async function readLogPage(
  feed: Pick<ChangeFeed, 'after' | 'bounds'>,
  renderer: ChangeRenderer,
  { after, limit, maxBytes = maxPageBytes }: PageRequest,
): Promise<LogPage> {
  const progress: Progress = {
    ...{ replies: [], limit, maxBytes: Math.min(maxBytes, maxPageBytes) },
    ...{ position: after, bytes: 0 },
  }
  let scanned = 0
  const page = (hasMore: boolean) => ({
    replies: progress.replies,
    position: progress.position,
    hasMore,
    scanned,
  })
  for (let batch = 0; batch < maxBatches; batch++) {
    const changes = await feed.after(progress.position, batchSize, maxBatchBytes)
    // Checked after reading: changes that were pruned meanwhile are missing.
    if (changes[0]?.event !== progress.position + 1) checkResumable(progress.position, await feed.bounds())
    scanned += changes.length
    const isComplete = await readBatch(progress, changes, renderer)
    if (isComplete && isLogEnd(changes, batchSize)) return page(false)
    if (!isComplete || isFull(progress)) return page(true)
  }
  return page(true)
}

function isFull({ replies, limit }: Progress): boolean {
  return replies.length >= limit
}

/** Returns whether all changes were read. */
async function readBatch(
  progress: Progress,
  changes: readonly LoggedChange[],
  renderer: ChangeRenderer,
): Promise<boolean> {
  let blockedSince = performance.now()
  for (let start = 0; start < changes.length; start += sliceSize) {
    const slice = changes.slice(start, start + sliceSize)
    const replies = await Promise.all(slice.map(async change => replyTo(change, renderer)))
    for (const [index, { event }] of slice.entries()) {
      if (isFull(progress)) return false
      const reply = replies[index]
      if (typeof reply === 'string' && !add(progress, reply)) return false
      progress.position = event
    }
    if (performance.now() - blockedSince < maxBlockingMs) continue
    await new Promise(resolve => setImmediate(resolve))
    blockedSince = performance.now()
  }
  return true
}

/** Returns false if the page has no room for the reply. */
function add(progress: Progress, reply: string): boolean {
  const bytes = Buffer.byteLength(reply)
  if (progress.replies.length > 0 && progress.bytes + bytes > progress.maxBytes) return false
  progress.replies.push(reply)
  progress.bytes += bytes
  return true
}

function replyTo(change: LoggedChange, renderer: ChangeRenderer) {
  return hasTopicFor(renderer, change) ? renderer.render(change) : null
}
