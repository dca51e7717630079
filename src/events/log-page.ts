/** A page of the log, as one listener may see it. */
import { type ChangeFeed, isLogEnd, type LoggedChange, maxBatchBytes } from './change-feed.ts'
import { checkResumable } from './resume.ts'
import type { ChangeRenderer } from './subscriber.ts'

/** The most rows of the log that one page reads: a listener that may see few of them still makes progress. */
const maxScannedRows = 1000
const batchSize = 100
/** Changes that are rendered at once. */
const sliceSize = 16
/** A page ends once it has this much text. */
const maxCharacters = 4_194_304
/** After this long, other work gets its turn. */
const maxBlockingMs = 5

export interface LogPage {
  readonly replies: readonly string[]
  /** Every event up to this one was read. */
  readonly position: number
  /** Whether the log may have more after it. */
  readonly hasMore: boolean
}

interface Reading {
  readonly replies: string[]
  position: number
  characters: number
}

/**
 * Reads the replies to up to `limit` changes after the event `after`. Throws RESYNC_REQUIRED if the log no longer has all
 * of them, and UNAVAILABLE during a database outage.
 */
export async function readLogPage(
  feed: Pick<ChangeFeed, 'after' | 'bounds'>,
  renderer: ChangeRenderer,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<LogPage> {
  const reading: Reading = { replies: [], position: after, characters: 0 }
  const page = (hasMore: boolean) => ({ replies: reading.replies, position: reading.position, hasMore })
  for (let scanned = 0; scanned < maxScannedRows; scanned += batchSize) {
    const changes = await feed.after(reading.position, batchSize, maxBatchBytes)
    // After the changes: those that were pruned meanwhile are missing among them.
    if (changes[0]?.event !== reading.position + 1) checkResumable(reading.position, await feed.bounds())
    const isWhole = await readBatch(reading, changes, renderer, limit)
    if (isWhole && isLogEnd(changes, batchSize)) return page(false)
    if (!isWhole || isFull(reading, limit)) return page(true)
  }
  return page(true)
}

function isFull({ replies, characters }: Reading, limit: number): boolean {
  return replies.length >= limit || characters >= maxCharacters
}

/** Returns whether all of the changes were read. */
async function readBatch(
  reading: Reading,
  changes: readonly LoggedChange[],
  renderer: ChangeRenderer,
  limit: number,
): Promise<boolean> {
  let beganAt = performance.now()
  for (let at = 0; at < changes.length; at += sliceSize) {
    const slice = changes.slice(at, at + sliceSize)
    const replies = await Promise.all(slice.map(async change => replyTo(change, renderer)))
    for (const [index, { event }] of slice.entries()) {
      if (isFull(reading, limit)) return false
      reading.position = event
      const reply = replies[index]
      if (typeof reply !== 'string') continue
      reading.replies.push(reply)
      reading.characters += reply.length
    }
    if (performance.now() - beganAt < maxBlockingMs) continue
    await new Promise(resolve => setImmediate(resolve))
    beganAt = performance.now()
  }
  return true
}

function replyTo(change: LoggedChange, { topics, render }: ChangeRenderer) {
  const isWanted = topics.some(
    ({ kind, collection }) => kind === change.kind && collection === change.collection,
  )
  return isWanted ? render(change) : null
}
