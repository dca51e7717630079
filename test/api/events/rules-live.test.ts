/** Subscribers when a rule depends on the time or an item has computed fields: over HTTP, with a mock clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from 'graphql-sse'
import {
  anyone,
  collection,
  count,
  currentUser,
  datetime,
  field,
  model,
  now,
  owner,
  relation,
  text,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import { open } from '../../../src/server/serve/serve.ts'
import { SteppedClock } from '../../../src/tools/testing/clock.ts'
import { TestUsers } from '../../../src/tools/testing/users.ts'
import { until } from '../../setups/databases/replicated.ts'
import { stream } from './listener.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const declared = checkModel(
  model({
    posts: collection({
      access: { ...access, read: field('published_at').lte(now) },
      fields: { title: text(), published_at: datetime() },
      computed: { comment_count: count('comments') },
    }),
    comments: collection({
      access: { ...access, read: owner('author_id') },
      fields: {
        body: text(),
        post_id: relation('posts', { inverse: 'comments' }),
        author_id: relation('users', { optional: true, inverse: 'comments', default: currentUser }),
      },
    }),
  }),
)

async function startService() {
  const clock = new SteppedClock('2026-01-01T00:00:00Z')
  const given = {
    port: 0,
    host: '127.0.0.1',
    logLevel: 'silent',
    rateLimit: 'off',
    secretKeys: ['the-key-of-a-service-that-is-only-tested-in-memory'],
  } as const
  const settings = { ...readSettings({ given }), database: ':memory:' }
  const mail = { delivers: false, send: async () => {} }
  const { service, run, records } = await open(declared, settings, createLog(settings), {
    background: false,
    simulation: { clock, mail },
  })
  return { clock, service, users: new TestUsers(run, records, service.data) }
}

test('subscribers get the first change after an embargo ends and none before', async () => {
  const { clock, service } = await startService()
  const { url, data } = service
  const listener = await stream(url, 'collections=posts')
  const sse = createClient({ url: `${url}/graphql`, retryAttempts: 0 })
  const received: unknown[] = []
  try {
    const query = 'subscription { postUpdated { title } }'
    sse.subscribe(
      { query },
      { next: result => received.push(result.data), error: assert.fail, complete: () => {} },
    )
    const posts = data.posts ?? assert.fail()
    const secret = await posts.create({ title: 'Secret', published_at: '2026-01-01T00:01:00Z' })
    const open = await posts.create({ title: 'Open', published_at: '2025-01-01T00:00:00Z' })
    let round = 0
    await until('the subscription is open', async () => {
      await posts.update(open.id as number, { title: `Open ${round++}` })
      return received.length > 0
    })
    await posts.update(secret.id as number, { title: 'Still secret' })
    await posts.update(open.id as number, { title: 'Marker' })
    await until('the marker', () => JSON.stringify(received).includes('Marker'))
    clock.set('2026-01-01T00:01:00Z')
    await posts.update(secret.id as number, { title: 'Published' })
    await until('the update', () => JSON.stringify(received).includes('Published'))
    await until('the event', () => JSON.stringify(listener.events()).includes('Published'))
    assert.doesNotMatch(JSON.stringify([received, listener.blocks]), /[Ss]ecret/)
  } finally {
    listener.close()
    sse.dispose()
    await service.close()
  }
})

test('a subscription renders computed fields for its own caller', async () => {
  const { service, users } = await startService()
  const { url, data } = service
  const ann = Number((await users.create({ name: 'Ann' }, true)).id)
  const headers = { Authorization: `Bearer ${await users.keyOf(ann)}` }
  const query = 'subscription { postUpdated { commentCount } }'
  const clients = [{}, headers].map(headers =>
    createClient({ url: `${url}/graphql`, headers, retryAttempts: 0 }),
  )
  const received: unknown[][] = clients.map(client => {
    const events: unknown[] = []
    client.subscribe(
      { query },
      { next: ({ data }) => events.push(data), error: assert.fail, complete: () => {} },
    )
    return events
  })
  try {
    const posts = data.posts ?? assert.fail()
    const post = await posts.create({ title: 'One', published_at: '2025-01-01T00:00:00Z' })
    await data.comments?.create({ body: 'Hers', post_id: Number(post.id), author_id: ann })
    let round = 0
    await until('both have received an event', async () => {
      await posts.update(Number(post.id), { title: `One ${round++}` })
      return received.every(({ length }) => length > 0)
    })
    // Only Ann may read her comment.
    assert.deepEqual(
      received.map(([first]) => first),
      [{ postUpdated: { commentCount: 0 } }, { postUpdated: { commentCount: 1 } }],
    )
  } finally {
    for (const client of clients) client.dispose()
    await service.close()
  }
})
