/** Subscribers on three nodes get every post once and in commit order, whichever node wrote it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../../api/transports/service.ts'
import { chosen } from '../../chosen.ts'
import { withFixture } from '../../identity/conformance/server.ts'
import blog from '../../models/blog.ts'
import { rowSecurityNodes } from '../../setups/postgres.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { assertAllReceived, subscribe, untilAllListen, write } from './subscribers.ts'

const postsPerWriter = 40
const subscribersPerNode = 2

for (const setup of chosen([...nodeSetups, rowSecurityNodes])) {
  test(`every subscriber on every node gets every post once and in the same order (${setup.name})`, async () => {
    await withFixture(
      {},
      async ({ url: any, urls, ann, ben }) => {
        assert.ok(urls.length >= 3)
        const places = Array.from({ length: subscribersPerNode }, () => urls).flat()
        const subscribers = places.map(url => subscribe(url, ben.key))
        try {
          await untilAllListen(any, ann.key, subscribers)
          // Sequentially on each node, concurrently on all nodes.
          const writers = urls.map(async (url, writer) => {
            for (let post = 0; post < postsPerWriter; post++) await write(url, ann.key, `${writer} ${post}`)
          })
          await Promise.all(writers)
          const all = urls.length * postsPerWriter
          await until(() => subscribers.every(subscriber => subscriber.titles().length >= all), 20_000)
          // Duplicates would arrive now.
          await wait(500)
          assertAllReceived(subscribers, urls.length, postsPerWriter)
        } finally {
          for (const { end } of subscribers) end()
        }
      },
      blog,
      setup,
    )
  })
}
