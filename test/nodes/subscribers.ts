/** Who hears of new posts, over WebSockets. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { call } from '../serve/service.ts'
import { client } from '../transports/service.ts'

export interface Subscriber {
  readonly faults: unknown[]
  /** What it has heard, but for the first posts, by which it was found to listen. */
  titles(): readonly string[]
  /** Whether it has heard anything. */
  hears(): boolean
  end(): void
}

const first = 'warm-up'

/** See `untilAllListen`. */
export function subscribe(url: string, key: string): Subscriber {
  const heard: string[] = []
  const faults: unknown[] = []
  const socket = client(`${url.replace('http', 'ws')}/graphql`, { Authorization: `Bearer ${key}` })
  const stop = socket.subscribe<{ newPost: { title: string } }>(
    { query: 'subscription { newPost { title } }' },
    {
      next: ({ data, errors }) => (data ? heard.push(data.newPost.title) : faults.push(errors)),
      error: fault => faults.push(fault),
      complete: () => {},
    },
  )
  return {
    faults,
    titles: () => heard.filter(title => title !== first),
    hears: () => heard.length > 0,
    end() {
      stop()
      void socket.dispose()
    },
  }
}

export async function write(url: string, key: string, title: string): Promise<void> {
  const made = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title, body: '' } })
  assert.equal(made.status, 201, made.text)
}

/** A first post again and again until all have heard one: then all listen. `key`: of who writes. */
export async function untilAllListen(
  url: string,
  key: string,
  subscribers: readonly Subscriber[],
): Promise<void> {
  for (let round = 0; !subscribers.every(one => one.hears()); round++) {
    assert.ok(round < 100, 'a subscriber hears nothing')
    await write(url, key, first)
    await wait(50)
  }
}

/** All have heard every post of each writer once, in one order, and those of one writer in theirs: `<writer> <post>`. */
export function assertAllHeard(subscribers: readonly Subscriber[], writers: number, posts: number): void {
  const [all = []] = subscribers.map(one => one.titles())
  assert.equal(all.length, writers * posts)
  for (const one of subscribers) {
    assert.deepEqual(one.titles(), all)
    assert.deepEqual(one.faults, [])
  }
  for (let writer = 0; writer < writers; writer++) {
    const own = all.filter(title => title.startsWith(`${writer} `))
    assert.deepEqual(
      own,
      Array.from({ length: posts }, (_, post) => `${writer} ${post}`),
    )
  }
}
