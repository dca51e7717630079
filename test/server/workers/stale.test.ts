/** An acknowledged write is visible at every worker, over REST and GraphQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sameOrigin, signedInCookie } from '../../identity/own-page.ts'
import { backends } from './backends.ts'
import { type RunningWorkers, type WorkerConnection, withWorkers } from './service.ts'

const writers = 6
const turns = 60

async function firstUser({ connections }: RunningWorkers): Promise<number> {
  const { json } = await (connections[0] as WorkerConnection).request('/api/v1/me')
  return Number(json.id)
}

interface Post {
  readonly id: number
  readonly title: string
}

/** Requires that each worker returns the post with this title, over every transport and despite the previous entity tag. */
async function requireTitle(
  connections: readonly WorkerConnection[],
  id: number,
  title: string,
  tag: string,
): Promise<void> {
  const query = `query { post(id: "${id}") { title } }`
  await Promise.all(
    connections.map(async connection => {
      const item = await connection.request(`/api/v1/posts/${id}`, { headers: { 'If-None-Match': tag } })
      assert.equal(item.status, 200, 'the old entity tag must not match')
      assert.equal((item.json as unknown as Post).title, title)
      const list = await connection.request(`/api/v1/posts?id=${id}`)
      assert.equal((list.json as unknown as { data: Post[] }).data[0]?.title, title)
      const { json } = await connection.request('/graphql', { method: 'POST', body: { query } })
      assert.deepEqual(json, { data: { post: { title } }, extensions: json.extensions })
    }),
  )
}

for (const backend of backends) {
  test(`a change acknowledged by one of three workers is returned by all of them (${backend.name})`, async () => {
    await withWorkers(
      3,
      async pool => {
        const author = await firstUser(pool)
        const write = async (writer: number) => {
          const connections = await Promise.all(pool.connections.map(pool.another))
          const created = await (connections[writer % 3] as WorkerConnection).request('/api/v1/posts', {
            method: 'POST',
            body: { title: 'new', body: '', author_id: author },
          })
          assert.equal(created.status, 201)
          const { id } = created.json as unknown as Post
          let tag = String(created.headers.etag)
          for (let turn = 0; turn < turns; turn++) {
            const title = `${writer} in turn ${turn}`
            const by = connections[(writer + turn) % 3] as WorkerConnection
            const changed = await by.request(`/api/v1/posts/${id}`, {
              method: 'PATCH',
              body: { title },
              headers: { 'If-Match': tag },
            })
            assert.equal(changed.status, 200)
            await requireTitle(connections, id, title, tag)
            tag = String(changed.headers.etag)
          }
        }
        await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
      },
      {},
      backend,
    )
  })
}

test('a session started or ended at one worker is started or ended at all', async () => {
  const password = 'correct horse battery'
  await withWorkers(
    3,
    async ({ connections, url }) => {
      const [first, second] = connections as readonly [WorkerConnection, WorkerConnection]
      const email = 'admin@example.com'
      const Cookie = await signedInCookie(url, { email, password })
      const headers = { Cookie, ...sameOrigin }
      const statuses = () =>
        Promise.all(
          connections.map(async connection => (await connection.request('/api/v1/me', { headers })).status),
        )
      const signOut = (connection: WorkerConnection) =>
        connection.request('/account/sign-out', { method: 'POST', headers, body: {} })
      assert.deepEqual(await statuses(), [200, 200, 200])
      // A sign-out from another origin is refused.
      const foreign = { Cookie, 'Sec-Fetch-Site': 'same-site' }
      const forged = await first.request('/account/sign-out', { method: 'POST', headers: foreign, body: {} })
      assert.equal(forged.status, 403)
      assert.deepEqual(await statuses(), [200, 200, 200])
      assert.equal((await signOut(second)).status, 204)
      assert.deepEqual(await statuses(), [401, 401, 401])
    },
    { adminPassword: password },
  )
})
