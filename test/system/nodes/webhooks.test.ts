/** Webhooks when the sending node is killed: no event is lost, duplicates have the same id, and items stay in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { check, type Fixture, senderOf, titlesOf, until, within } from './webhooks.ts'

/** Kills the sending node while it sends a message, and starts it again at the end. */
async function killWhileSending(fixture: Fixture): Promise<void> {
  const { cluster, receiver, write, secret } = fixture
  const sender = await senderOf(cluster)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isKilled = false
  // The receiver has the message, but the sender is killed before the response.
  receiver.onMessage = async ({ event }) => {
    if (event.data.title !== 'killed' || isKilled) return
    isKilled = true
    await sender.kill()
    resolve()
  }
  const item = await write('/api/v1/posts', 'POST', { title: 'killed', body: 'x' })
  await promise
  const others = cluster.nodes.filter(node => node !== sender)
  if (others.length === 0) await sender.start()
  await write(`/api/v1/posts/${item}`, 'PATCH', { title: 'after' })
  await until(() => titlesOf(receiver).has('after'), 'the next sender sends the rest')
  const killed = receiver.received.filter(({ event }) => event.data.title === 'killed')
  assert.ok(killed.length >= 2, 'the unacknowledged message is sent again')
  if (!sender.isUp) await sender.start()
  check(receiver, secret)
}

/** Kills the sending node repeatedly while events are written. */
async function killAtRandom(fixture: Fixture, kills: number): Promise<void> {
  const { cluster, receiver, write, secret } = fixture
  receiver.onMessage = () => sleep(5)
  const titles: string[] = []
  let isDone = false
  const items = await Promise.all(
    [1, 2, 3].map(n => write('/api/v1/posts', 'POST', { title: `item ${n}`, body: 'x' })),
  )
  const writing = Promise.all(
    items.map(async id => {
      for (let times = 0; !isDone; times++) {
        const title = `${id}/${times}`
        await write(`/api/v1/posts/${id}`, 'PATCH', { title })
        titles.push(title)
      }
    }),
  )
  for (let count = 0; count < kills; count++) {
    const before = receiver.received.length
    await until(() => receiver.received.length > before + 20, 'messages are sent')
    const sender = await senderOf(cluster)
    await sender.kill()
    await sender.start()
  }
  isDone = true
  await writing
  await until(() => titles.every(title => titlesOf(receiver).has(title)), 'every event is received')
  check(receiver, secret)
}

test('on three nodes with PostgreSQL, no webhook is lost when the sending node is killed', () =>
  withPostgres(url =>
    within(url, 3, async fixture => {
      await killWhileSending(fixture)
      await killAtRandom(fixture, 1)
    }),
  ))

test('on SQLite, no webhook is lost when the service is killed while it sends', async () => {
  const deployment = await sqlite.open()
  try {
    await within(deployment.database, 1, async fixture => {
      await killWhileSending(fixture)
      await killAtRandom(fixture, 1)
    })
  } finally {
    await deployment.close()
  }
})

test('a stopping node completes its delivery and lets another node send at once', () =>
  withPostgres(url =>
    within(url, 2, async ({ cluster, receiver, write, secret }) => {
      const sender = await senderOf(cluster)
      await write('/api/v1/posts', 'POST', { title: 'one', body: 'x' })
      await until(() => titlesOf(receiver).has('one'), 'the first is sent')
      receiver.onMessage = () => sleep(500)
      await write('/api/v1/posts', 'POST', { title: 'two', body: 'x' })
      await until(() => titlesOf(receiver).has('two'), 'the second is being sent')
      await sender.stop()
      await write('/api/v1/posts', 'POST', { title: 'three', body: 'x' })
      await until(() => titlesOf(receiver).has('three'), 'the other node sends')
      assert.equal(receiver.received.length, 3)
      check(receiver, secret)
    }),
  ))

test('only one of two workers sends webhooks, whichever stored the event', async () => {
  const deployment = await sqlite.open()
  const use = async ({ cluster, receiver, write, secret }: Fixture) => {
    await senderOf(cluster)
    const titles = Array.from({ length: 20 }, (_, index) => `post ${index}`)
    await Promise.all(titles.map(title => write('/api/v1/posts', 'POST', { title, body: 'x' })))
    await until(() => titlesOf(receiver).size === 20, 'all are sent')
    assert.equal(receiver.received.length, 20)
    check(receiver, secret)
  }
  try {
    await within(deployment.database, 1, use, 2)
  } finally {
    await deployment.close()
  }
})
