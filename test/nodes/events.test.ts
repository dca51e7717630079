/** Subscribers on three nodes: every post once, in the order of commits, whichever node wrote it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, withFixture } from '../conformance/oauth/server.ts'
import blog from '../models/blog.ts'
import { call } from '../serve/service.ts'
import { nodeSetups } from '../setups/setups.ts'
import { client, until } from '../transports/service.ts'

const POSTS = 40
const PER_NODE = 2

interface Subscriber {
  readonly titles: string[]
  readonly faults: unknown[]
  readonly end: () => void
}

/** Resolves when it has begun: what is committed from then on, it hears. */
async function subscribe(url: string, key: string): Promise<Subscriber> {
  const titles: string[] = []
  const faults: unknown[] = []
  const socket = client(`${url.replace('http', 'ws')}/graphql`, { Authorization: `Bearer ${key}` })
  const stop = socket.subscribe<{ newPost: { title: string } }>(
    { query: 'subscription { newPost { title } }' },
    {
      next: ({ data, errors }) => (data ? titles.push(data.newPost.title) : faults.push(errors)),
      error: fault => faults.push(fault),
      complete: () => {},
    },
  )
  const end = () => {
    stop()
    void socket.dispose()
  }
  return { titles, faults, end }
}

async function write(url: string, key: string, title: string): Promise<void> {
  const made = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title, body: '' } })
  assert.equal(made.status, 201, made.text)
}

/** A first post again and again until all have heard one: then all listen. */
async function untilAllListen({ url, ann }: Fixture, subscribers: readonly Subscriber[]): Promise<void> {
  for (let round = 0; subscribers.some(({ titles }) => titles.length === 0); round++) {
    assert.ok(round < 100, 'a subscriber hears nothing')
    await write(url, ann.key, 'warm-up')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

const told = ({ titles }: Subscriber) => titles.filter(title => title !== 'warm-up')

for (const setup of nodeSetups) {
  test(`every subscriber on every node hears every post once, in one order (${setup.name})`, async () => {
    await withFixture(
      {},
      async fixture => {
        const { urls, ann, ben } = fixture
        assert.ok(urls.length >= 3)
        const places = Array.from({ length: PER_NODE }, () => urls).flat()
        const subscribers = await Promise.all(places.map(url => subscribe(url, ben.key)))
        try {
          await untilAllListen(fixture, subscribers)
          // On each node one after the other, on all nodes at once.
          const writers = urls.map(async (url, writer) => {
            for (let post = 0; post < POSTS; post++) await write(url, ann.key, `${writer} ${post}`)
          })
          await Promise.all(writers)
          const all = urls.length * POSTS
          await until(() => subscribers.every(subscriber => told(subscriber).length >= all), 20_000)
          await new Promise(resolve => setTimeout(resolve, 500))
          const [first = []] = subscribers.map(told)
          assert.equal(first.length, all)
          assert.equal(new Set(first).size, all)
          for (const subscriber of subscribers) {
            assert.deepEqual(told(subscriber), first)
            assert.deepEqual(subscriber.faults, [])
          }
          for (let writer = 0; writer < urls.length; writer++) {
            const own = first.filter(title => title.startsWith(`${writer} `))
            assert.deepEqual(
              own,
              Array.from({ length: POSTS }, (_, post) => `${writer} ${post}`),
            )
          }
        } finally {
          for (const { end } of subscribers) end()
        }
      },
      blog,
      setup,
    )
  })
}
