/** Whoever was told that something is stored reads it from every worker, however it is asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sameOrigin, signedInCookie } from '../auth/own-page.ts'
import { places } from './backends.ts'
import { type Lane, type RunningWorkers, withWorkers } from './service.ts'

const WRITERS = 6
const TURNS = 60

async function firstUser({ lanes }: RunningWorkers): Promise<number> {
  const { json } = await (lanes[0] as Lane).ask('/api/v1/me')
  return Number(json.id)
}

interface Post {
  readonly id: number
  readonly title: string
}

/** What each worker says of a post, asked in every way, each time with the tag of what it said last. */
async function requireTitle(lanes: readonly Lane[], id: number, title: string, tag: string): Promise<void> {
  const query = `query { post(id: "${id}") { title } }`
  await Promise.all(
    lanes.map(async lane => {
      const item = await lane.ask(`/api/v1/posts/${id}`, { headers: { 'If-None-Match': tag } })
      assert.equal(item.status, 200, 'an old tag does not match')
      assert.equal((item.json as unknown as Post).title, title)
      const list = await lane.ask(`/api/v1/posts?id=${id}`)
      assert.equal((list.json as unknown as { data: Post[] }).data[0]?.title, title)
      const { json } = await lane.ask('/graphql', { method: 'POST', body: { query } })
      assert.deepEqual(json, { data: { post: { title } }, extensions: json.extensions })
    }),
  )
}

for (const place of places) {
  test(`six writers at three workers: every acknowledged change is what all of them answer (${place.name})`, async () => {
    await withWorkers(
      3,
      async pool => {
        const author = await firstUser(pool)
        const write = async (writer: number) => {
          const lanes = await Promise.all(pool.lanes.map(pool.beside))
          const made = await (lanes[writer % 3] as Lane).ask('/api/v1/posts', {
            method: 'POST',
            body: { title: 'new', body: '', author_id: author },
          })
          assert.equal(made.status, 201)
          const { id } = made.json as unknown as Post
          let tag = String(made.headers.etag)
          for (let turn = 0; turn < TURNS; turn++) {
            const title = `${writer} in turn ${turn}`
            const by = lanes[(writer + turn) % 3] as Lane
            const changed = await by.ask(`/api/v1/posts/${id}`, {
              method: 'PATCH',
              body: { title },
              headers: { 'If-Match': tag },
            })
            assert.equal(changed.status, 200)
            await requireTitle(lanes, id, title, tag)
            tag = String(changed.headers.etag)
          }
        }
        await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
      },
      {},
      place,
    )
  })
}

test('a session that one worker has begun or ended has begun or ended at all', async () => {
  const password = 'correct horse battery'
  await withWorkers(
    3,
    async ({ lanes, url }) => {
      const [first, second] = lanes as readonly [Lane, Lane]
      const email = 'admin@example.com'
      const Cookie = await signedInCookie(url, { email, password })
      const headers = { Cookie, ...sameOrigin }
      const statuses = () =>
        Promise.all(lanes.map(async lane => (await lane.ask('/api/v1/me', { headers })).status))
      const signOut = (lane: Lane) => lane.ask('/account/sign-out', { method: 'POST', headers, body: {} })
      assert.deepEqual(await statuses(), [200, 200, 200])
      // Told of no session by another origin, nothing ends.
      const foreign = { Cookie, 'Sec-Fetch-Site': 'same-site' }
      const forged = await first.ask('/account/sign-out', { method: 'POST', headers: foreign, body: {} })
      assert.equal(forged.status, 403)
      assert.deepEqual(await statuses(), [200, 200, 200])
      assert.equal((await signOut(second)).status, 204)
      assert.deepEqual(await statuses(), [401, 401, 401])
    },
    { adminPassword: password },
  )
})
