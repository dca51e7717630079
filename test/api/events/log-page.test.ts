/** Pages of the event log, read from a log in memory. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readLogPage } from '../../../src/api/events/log-page.ts'
import type { ChangeRenderer } from '../../../src/api/events/subscriber.ts'
import { stubFeed } from './stub.ts'

const posts: ChangeRenderer = {
  topics: [{ collection: 'posts', kind: 'created' }],
  render: ({ id }) => (id % 2 === 0 ? `post ${id}` : null),
}

function feedOf(count: number, collection = 'posts') {
  const feed = stubFeed()
  feed.commit(...Array.from({ length: count }, () => ({ collection })))
  return feed
}

describe('a page of the log', () => {
  it('ends at its limit, with the position of its last reply', async () => {
    const page = await readLogPage(feedOf(50), posts, { after: 0, limit: 3 })
    assert.deepEqual(page, {
      replies: ['post 2', 'post 4', 'post 6'],
      position: 6,
      hasMore: true,
      scanned: 50,
    })
  })

  it('ends at the end of the log, after events that are not shown', async () => {
    const page = await readLogPage(feedOf(5), posts, { after: 2, limit: 3 })
    assert.deepEqual(page, { replies: ['post 4'], position: 5, hasMore: false, scanned: 3 })
    const full = await readLogPage(feedOf(4), posts, { after: 2, limit: 1 })
    assert.equal(full.position, 4)
  })

  it('continues where a read stopped early because of large rows', async () => {
    const feed = stubFeed()
    const body = 'x'.repeat(1_000_000)
    feed.commit(...Array.from({ length: 8 }, () => ({ row: { body } })))
    const page = await readLogPage(feed, posts, { after: 0, limit: 10 })
    assert.deepEqual([page.position, page.hasMore, page.replies.length], [8, false, 4])
  })

  it('reads a bounded number of rows, and advances even if no event is shown', async () => {
    const feed = feedOf(2500, 'others')
    const reads: number[] = []
    const counted = {
      bounds: feed.bounds,
      after: (event: number, limit: number) => {
        reads.push(limit)
        return feed.after(event, limit)
      },
    }
    const { position, hasMore, replies } = await readLogPage(counted, posts, { after: 0, limit: 10 })
    assert.deepEqual([position, hasMore, replies], [1000, true, []])
    assert.equal(
      reads.reduce((sum, value) => sum + value, 0),
      1000,
    )
  })

  it('renders no more than one slice beyond its limit', async () => {
    const rendered: number[] = []
    const render: ChangeRenderer['render'] = ({ id }) => {
      rendered.push(id)
      return String(id)
    }
    await readLogPage(feedOf(100), { ...posts, render }, { after: 0, limit: 1 })
    assert.ok(rendered.length <= 16, String(rendered.length))
  })

  it('ends before its text exceeds the limit', async () => {
    const long = 'x'.repeat(2_000_000)
    const page = await readLogPage(feedOf(50), { ...posts, render: () => long }, { after: 0, limit: 50 })
    assert.deepEqual([page.replies.length, page.position, page.hasMore], [2, 2, true])
    const small = { after: 0, limit: 50, maxBytes: 1000 }
    const alone = await readLogPage(feedOf(50), { ...posts, render: () => long }, small)
    assert.deepEqual([alone.replies.length, alone.position, alone.hasMore], [1, 1, true])
  })

  it('is refused when the starting event was pruned, even during the read, or is not yet in the log', async () => {
    const feed = feedOf(10)
    feed.log.splice(0, 4)
    feed.pruned = 4
    const request = { after: 3, limit: 10 }
    await assert.rejects(readLogPage(feed, posts, request), { code: 'RESYNC_REQUIRED' })
    assert.equal((await readLogPage(feed, posts, { after: 4, limit: 10 })).replies.length, 3)
    await assert.rejects(readLogPage(feed, posts, { after: 11, limit: 10 }), { code: 'RESYNC_REQUIRED' })
    feed.log.length = 0
    feed.pruned = 10
    await assert.rejects(readLogPage(feed, posts, { after: 9, limit: 10 }), { code: 'RESYNC_REQUIRED' })
    assert.deepEqual(await readLogPage(feed, posts, { after: 10, limit: 10 }), {
      replies: [],
      position: 10,
      hasMore: false,
      scanned: 0,
    })
  })
})
