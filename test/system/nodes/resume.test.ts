/** Subscribers that are disconnected at random and resume on any node get every event once and in order. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../../api/transports/service.ts'
import { chosen } from '../../chosen.ts'
import { withFixture } from '../../identity/conformance/server.ts'
import blog from '../../models/blog.ts'
import { postgresNodes } from '../../setups/postgres.ts'
import { sqlite, sqliteNodes } from '../../setups/sqlite.ts'
import { type ReceivedPost, ResumingListener } from './resuming.ts'
import { write } from './subscribers.ts'

const writers = 3
const posts = 40
const cuts = 60

function assertComplete(received: readonly ReceivedPost[], all: readonly ReceivedPost[]): void {
  assert.deepEqual(received, all)
  const events = received.map(({ event }) => event)
  assert.deepEqual(
    events,
    [...new Set(events)].sort((a, b) => a - b),
  )
  for (let writer = 0; writer < writers; writer++) {
    const own = received.filter(({ title }) => title.startsWith(`${writer} `)).map(({ title }) => title)
    assert.deepEqual(
      own,
      Array.from({ length: posts }, (_, post) => `${writer} ${post}`),
    )
  }
}

for (const setup of chosen([sqlite, sqliteNodes, postgresNodes])) {
  test(`a subscriber that is disconnected and resumes misses no event (${setup.name})`, async () => {
    await withFixture(
      {},
      async ({ urls, ann, ben, cleo }) => {
        const keys = [ann.key, ben.key, cleo.key]
        const listeners = keys.flatMap(key => [
          new ResumingListener('WebSocket', key),
          new ResumingListener('server-sent events', key),
        ])
        const anyUrl = () => urls[Math.floor(Math.random() * urls.length)] ?? ''
        try {
          for (const listener of listeners) listener.connect(anyUrl())
          const writing = Array.from({ length: writers }, async (_, writer) => {
            for (let post = 0; post < posts; post++) await write(anyUrl(), ann.key, `${writer} ${post}`)
          })
          const cutting = (async () => {
            for (let cut = 0; cut < cuts; cut++) {
              await wait(Math.random() * 20)
              listeners[cut % listeners.length]?.connect(anyUrl())
            }
          })()
          await Promise.all([...writing, cutting])
          const all = new ResumingListener('WebSocket', ann.key)
          listeners.push(all)
          all.connect(anyUrl())
          const count = writers * posts
          await until(() => listeners.every(({ received }) => received.length >= count), 20_000)
          for (const { received, faults } of listeners) {
            assert.deepEqual(faults, [])
            assertComplete(received, all.received)
          }
        } finally {
          for (const listener of listeners) listener.end()
        }
      },
      blog,
      setup,
    )
  })
}
