/** Subscribers to new posts over WebSockets. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { client } from '../../api/transports/service.ts'
import { call } from '../../server/serve/service.ts'

export interface Subscriber {
  readonly faults: unknown[]
  /** The titles received, without the warm-up posts of `untilAllListen`. */
  titles(): readonly string[]
  /** Whether it has received anything. */
  hasReceived(): boolean
  end(): void
}

const warmUpTitle = 'warm-up'

/** Starts to subscribe; `untilAllListen` waits until subscriptions are active. */
export function subscribe(url: string, key: string): Subscriber {
  const received: string[] = []
  const faults: unknown[] = []
  const socket = client(`${url.replace('http', 'ws')}/graphql`, { Authorization: `Bearer ${key}` })
  const stop = socket.subscribe<{ newPost: { title: string } }>(
    { query: 'subscription { newPost { title } }' },
    {
      next: ({ data, errors }) => (data ? received.push(data.newPost.title) : faults.push(errors)),
      error: fault => faults.push(fault),
      complete: () => {},
    },
  )
  return {
    faults,
    titles: () => received.filter(title => title !== warmUpTitle),
    hasReceived: () => received.length > 0,
    end() {
      stop()
      void socket.dispose()
    },
  }
}

export async function write(url: string, key: string, title: string): Promise<void> {
  const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title, body: '' } })
  assert.equal(created.status, 201, created.text)
}

/** Writes warm-up posts until every subscriber has received one, so that all are active. */
export async function untilAllListen(
  url: string,
  key: string,
  subscribers: readonly Subscriber[],
): Promise<void> {
  for (let round = 0; !subscribers.every(subscriber => subscriber.hasReceived()); round++) {
    assert.ok(round < 100, 'a subscriber receives nothing')
    await write(url, key, warmUpTitle)
    await wait(50)
  }
}

/** Requires that all got every post once and in the same order, and those of a writer, `<writer> <post>`, in order. */
export function assertAllReceived(subscribers: readonly Subscriber[], writers: number, posts: number): void {
  const [all = []] = subscribers.map(subscriber => subscriber.titles())
  assert.equal(all.length, writers * posts)
  for (const subscriber of subscribers) {
    assert.deepEqual(subscriber.titles(), all)
    assert.deepEqual(subscriber.faults, [])
  }
  for (let writer = 0; writer < writers; writer++) {
    const ofWriter = all.filter(title => title.startsWith(`${writer} `))
    assert.deepEqual(
      ofWriter,
      Array.from({ length: posts }, (_, post) => `${writer} ${post}`),
    )
  }
}
