/** Committed changes reach subscribers, whichever way they were made. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { createUser } from '../../../src/identity/bootstrap.ts'
import { endWithinSecond } from '../../within-second.ts'
import { admin, type Blog, openBlog, withStore } from './blog.ts'
import { client, json, openWebSocket, post, type RawWebSocket, until } from './service.ts'

let blog: Blog
before(async () => {
  blog = await openBlog({ quotas: { addressConnections: 1000 } })
})
after(() => blog.close())

interface Subscriber {
  readonly received: unknown[]
  readonly errors: unknown[]
  readonly opened: RawWebSocket
}

const subscriptions = async () =>
  Number(
    /^portico_graphql_subscriptions (\d+)$/m.exec(await (await fetch(`${blog.url}/metrics`)).text())?.[1] ??
      0,
  )

/** A subscriber that is connected. `key` undefined: anonymous. */
async function listen(query: string, key?: string, url = blog.socket): Promise<Subscriber> {
  const before = await subscriptions()
  const opened = await openWebSocket(url)
  const received: unknown[] = []
  const errors: unknown[] = []
  opened.socket.on('message', data => {
    const { type, payload } = JSON.parse(String(data))
    if (type === 'next') received.push(payload.data)
    if (type === 'error') errors.push(payload)
    if (type === 'connection_ack') opened.send({ id: '1', type: 'subscribe', payload: { query } })
  })
  opened.send({ type: 'connection_init', payload: key ? { Authorization: `Bearer ${key}` } : {} })
  while (errors.length === 0 && (await subscriptions()) === before) await new Promise(setImmediate)
  await new Promise(resolve => setTimeout(resolve, 10))
  return { received, errors, opened }
}

async function closeAll(...subscribers: Subscriber[]): Promise<void> {
  for (const { opened } of subscribers) opened.socket.close()
  await Promise.all(subscribers.map(({ opened }) => opened.closed))
}

const key = admin.Authorization.slice('Bearer '.length)
const newPost = 'subscription { newPost { id title body author { id email } } }'

async function mutate(query: string): Promise<void> {
  const answered = await post(blog.graphql, { query }, { ...json, ...admin })
  const { errors } = JSON.parse(await answered.text())
  assert.equal(errors, undefined, JSON.stringify(errors))
}

describe('a created post', () => {
  it('is delivered once, whether REST, GraphQL or another process created it', async () => {
    const subscriber = await listen(newPost, key)
    const titles = () =>
      subscriber.received.map(data => (data as { newPost: { title: string } }).newPost.title)
    await blog.rest('POST', 'posts', { title: 'by REST', body: 'b' })
    await mutate('mutation { createPost(title: "by GraphQL", authorId: 1) { id } }')
    await withStore(blog.database, run =>
      run.write(
        {
          shape: {
            kind: 'create',
            collection: 'posts',
            set: [
              { field: 'title', param: 0 },
              { field: 'author_id', param: 1 },
            ],
            computed: [],
            select: [],
          },
          args: ['by another', 1],
        },
        system,
      ),
    )
    await until(() => subscriber.received.length === 3)
    assert.deepEqual(titles(), ['by REST', 'by GraphQL', 'by another'])
    const author = { id: '1', email: 'admin@example.com' }
    const [first] = subscriber.received as { newPost: Record<string, unknown> }[]
    assert.deepEqual(first, { newPost: { id: first?.newPost.id, title: 'by REST', body: 'b', author } })
    await closeAll(subscriber)
  })
  it('is delivered as it was created, though it has been changed or deleted since', async () => {
    const subscriber = await listen(newPost, key)
    const created = await Promise.all(['one', 'two'].map(title => blog.rest('POST', 'posts', { title })))
    await blog.rest('PATCH', `posts/${created[0]?.id}`, { title: 'changed' })
    await blog.rest('DELETE', `posts/${created[1]?.id}`)
    await until(() => subscriber.received.length === 2)
    assert.deepEqual(
      subscriber.received.map(data => (data as { newPost: { title: string } }).newPost.title).sort(),
      ['one', 'two'],
    )
    await closeAll(subscriber)
  })
  it('is not delivered when it was refused or rolled back', async () => {
    const subscriber = await listen(newPost, key)
    await assert.rejects(blog.rest('POST', 'posts', { title: '', nothing: 1 }))
    await assert.rejects(blog.rest('POST', 'posts', { title: 'x', author_id: 999 }))
    await blog.rest('POST', 'posts', { title: 'right' })
    await until(() => subscriber.received.length > 0)
    assert.equal(subscriber.received.length, 1)
    await closeAll(subscriber)
  })
})

describe('changes and deletions', () => {
  it('deliver the item after an update, and its last values after a deletion', async () => {
    const updated = await listen('subscription { postUpdated { id title body } }', key)
    const deleted = await listen('subscription { postDeleted { id title author { email } } }', key)
    const { id } = await blog.rest('POST', 'posts', { title: 'a', body: 'b' })
    await blog.rest('PATCH', `posts/${id}`, { title: 'c' })
    await blog.rest('PATCH', `posts/${id}`, { title: 'c' })
    await mutate(`mutation { updatePost(id: ${id}, body: "d") { id } }`)
    await blog.rest('DELETE', `posts/${id}`)
    await until(() => deleted.received.length === 1)
    assert.deepEqual(updated.received, [
      { postUpdated: { id: String(id), title: 'c', body: 'b' } },
      { postUpdated: { id: String(id), title: 'c', body: 'd' } },
    ])
    const author = { email: 'admin@example.com' }
    assert.deepEqual(deleted.received, [{ postDeleted: { id: String(id), title: 'c', author } }])
    await closeAll(updated, deleted)
  })
})

describe('row rules', () => {
  it('apply to each subscriber and each change', async () => {
    const ann = await blog.newUser('ann')
    const ben = await blog.newUser('ben')
    const query = 'subscription { newApiKey { name } }'
    const [annHears, benHears] = [await listen(query, ann.key), await listen(query, ben.key)]
    for (const [name, by] of [
      ['of ann', ann],
      ['of ben', ben],
      ['of ann again', ann],
    ] as const) {
      await blog.rest('POST', 'api_keys', { name }, by.key)
    }
    await until(() => annHears.received.length === 2 && benHears.received.length === 1)
    assert.deepEqual(annHears.received, [
      { newApiKey: { name: 'of ann' } },
      { newApiKey: { name: 'of ann again' } },
    ])
    assert.deepEqual(benHears.received, [{ newApiKey: { name: 'of ben' } }])
    await closeAll(annHears, benHears)
  })
  it('refuse a subscriber who can never see a change', async () => {
    const nobody = await listen('subscription { newUser { id } }')
    assert.match(JSON.stringify(nobody.errors), /"code":"UNAUTHORIZED"/)
    await closeAll(nobody)
  })
  it('let anonymous subscribers see public changes', async () => {
    const open = await listen('subscription { newPost { id title } }')
    const curious = await listen('subscription { newPost { id title author { email } } }')
    const { id } = await blog.rest('POST', 'posts', { title: 'public' })
    await until(() => open.received.length > 0 && curious.opened.messages.length > 1)
    assert.deepEqual(open.received, [{ newPost: { id: String(id), title: 'public' } }])
    const messages = curious.opened.messages.join()
    assert.match(messages, /"code":"UNAUTHORIZED"/)
    assert.doesNotMatch(messages, /admin@example\.com/)
    await closeAll(open, curious)
  })
})

describe('a credential', () => {
  it('closes its connections with 4403 within a second of being revoked', async () => {
    const cat = await blog.newUser('cat')
    const subscriber = await listen(newPost, cat.key)
    const { closed } = subscriber.opened
    await blog.rest('DELETE', `api_keys/${cat.keyId}`, undefined, cat.key)
    await blog.rest('POST', 'posts', { title: 'after' })
    assert.ok(await endWithinSecond([closed], () => fetch(`${blog.url}/healthz`)))
    assert.equal((await closed).code, 4403)
    assert.deepEqual(subscriber.received, [])
  })
  it('in the query string closes them, too, whatever else the query contains', async () => {
    const quentin = await blog.newUser('quentin')
    const subscriber = await listen(newPost, undefined, `${blog.socket}?what=is?it&api_key=${quentin.key}`)
    const { closed } = subscriber.opened
    await blog.rest('DELETE', `api_keys/${quentin.keyId}`, undefined, quentin.key)
    assert.ok(await endWithinSecond([closed], () => fetch(`${blog.url}/healthz`)))
    assert.equal((await closed).code, 4403)
  })
  it('closes them when another process revokes it', async () => {
    const dan = await blog.newUser('dan')
    const subscriber = await listen(newPost, dan.key)
    await withStore(blog.database, run =>
      run.write(
        { shape: { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined }, args: [dan.keyId] },
        system,
      ),
    )
    assert.equal((await subscriber.opened.closed).code, 4403)
  })
  it('closes the connection and the stream when it expires', async () => {
    const eva = await blog.newUser('eva')
    const expires = new Date(Date.now() + 1500).toISOString()
    const short = await blog.rest('POST', 'api_keys', { name: 'short', expires_at: expires }, eva.key)
    const shortKey = String(short.key)
    const subscriber = await listen(newPost, shortKey)
    const stream = await post(
      `${blog.graphql}?api_key=${shortKey}`,
      { query: newPost },
      { ...json, Accept: 'text/event-stream' },
    )
    assert.equal(stream.status, 200)
    assert.equal((await subscriber.opened.closed).code, 4403)
    assert.match(await stream.text(), /"code":"UNAUTHORIZED"/)
    assert.ok(Date.now() >= Date.parse(expires))
  })
  it('closes them when its user is deleted', async () => {
    const id = await withStore(blog.database, run =>
      createUser(run, { name: 'Fay', email: 'fay@example.com' }, 'a password of hers'),
    )
    const fay = await withStore(blog.database, async run =>
      (await import('../../../src/identity/bootstrap.ts')).createKey(run, id, { name: 'k', scopes: ['*'] }),
    )
    const subscriber = await listen(newPost, fay)
    await blog.rest('DELETE', `users/${id}`)
    assert.equal((await subscriber.opened.closed).code, 4403)
  })
})

describe('a thousand subscribers', () => {
  it('get one created post each, once and in order', async () => {
    const received: string[][] = []
    const clients = Array.from({ length: 1000 }, (_, index) => {
      const mine: string[] = []
      received.push(mine)
      const socket = client(blog.socket, index % 2 ? admin : undefined)
      socket.subscribe<{ newPost: { title: string } }>(
        { query: 'subscription { newPost { id title } }' },
        {
          next: ({ data }) => mine.push(data?.newPost.title ?? ''),
          error: error => mine.push(String(error)),
          complete: () => {},
        },
      )
      return socket
    })
    const before = await subscriptions()
    while ((await subscriptions()) < 1000) await new Promise(resolve => setTimeout(resolve, 20))
    assert.ok(before <= 1000)
    await new Promise(resolve => setTimeout(resolve, 50))
    const titles = Array.from({ length: 5 }, (_, index) => `to all ${index}`)
    for (const title of titles) await blog.rest('POST', 'posts', { title })
    await until(() => received.every(mine => mine.length >= titles.length), 20_000)
    for (const mine of received) assert.deepEqual(mine, titles)
    await Promise.all(clients.map(socket => socket.dispose()))
  })
})
