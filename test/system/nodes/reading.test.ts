/** A write acknowledged by one node is immediately visible on all: in items, lists, totals, entity tags and GraphQL. */

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { suite, test } from 'node:test'
import { caseCount } from '../../cases.ts'
import { chosen, inWhole } from '../../chosen.ts'
import { type Fixture, sharedFixtures, withFixture } from '../../identity/conformance/server.ts'
import blog from '../../models/blog.ts'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import { rowSecurityNodes } from '../../setups/postgres.ts'
import { replicatedNodes } from '../../setups/replicated.ts'
import { nodeSetups } from '../../setups/setups.ts'

const rounds = caseCount(60, 8)
const writerCount = 4

interface Post {
  readonly id: number
  readonly title: string
}

/** The posts of one writer, as they must be visible on every node. */
class Writer {
  readonly #fixture: Fixture
  readonly #name: string
  readonly #posts = new Map<number, string>()
  /** The entity tag of the list at its last read. */
  #tag: string | undefined

  constructor(fixture: Fixture, name: string) {
    this.#fixture = fixture
    this.#name = name
  }

  #call(path: string, options: CallOptions = {}): Promise<Answer> {
    const { urls, ann } = this.#fixture
    const url = urls[randomInt(urls.length)] ?? ''
    return call(`${url}${path}`, { key: ann.key, ...options })
  }

  get #list(): string {
    return `/api/v1/posts?title[gte]=${this.#name}&title[lt]=${this.#name}~&per_page=100&sort=id`
  }

  async #write(round: number): Promise<void> {
    const title = `${this.#name} ${round}`
    const [id] = [...this.#posts.keys()].slice(randomInt(this.#posts.size + 1))
    if (id === undefined || this.#posts.size < 3) {
      const created = await this.#call('/api/v1/posts', { method: 'POST', body: { title, body: '' } })
      assert.equal(created.status, 201, created.text)
      this.#posts.set(Number(created.json.id), title)
    } else if (round % 4 === 3) {
      assert.equal((await this.#call(`/api/v1/posts/${id}`, { method: 'DELETE' })).status, 204)
      this.#posts.delete(id)
    } else {
      const changed = await this.#call(`/api/v1/posts/${id}`, { method: 'PATCH', body: { title } })
      assert.equal(changed.status, 200, changed.text)
      this.#posts.set(id, title)
    }
  }

  async #look(hasChanged: boolean): Promise<void> {
    const all = [...this.#posts].sort(([a], [b]) => a - b)
    const listed = await this.#call(this.#list, {
      headers: this.#tag === undefined ? {} : { 'If-None-Match': this.#tag },
    })
    if (hasChanged || this.#tag === undefined) {
      assert.equal(listed.status, 200, `${this.#name}: an old answer was returned`)
      const { data, meta } = listed.json as unknown as { data: Post[]; meta: { total: number } }
      assert.deepEqual(
        data.map(({ id, title }) => [id, title]),
        all,
      )
      assert.equal(meta.total, all.length)
    } else assert.equal(listed.status, 304)
    this.#tag = listed.headers.get('etag') ?? undefined
    for (const [id, title] of all.slice(-2)) {
      const item = await this.#call(`/api/v1/posts/${id}`)
      assert.equal(item.json.title, title)
      const query = `{ post(id: ${id}) { title } }`
      const answer = await this.#call('/graphql', { method: 'POST', body: { query } })
      assert.deepEqual(answer.json.data, { post: { title } })
    }
  }

  async run(): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      await this.#write(round)
      await this.#look(true)
      await this.#look(false)
    }
  }
}

async function writeAndRead(fixture: Fixture): Promise<void> {
  await Promise.all(
    Array.from({ length: writerCount }, (_, writer) => new Writer(fixture, `writer${writer}`).run()),
  )
}

async function totalAt(url: string, { ann }: Fixture): Promise<number> {
  const listed = await call(`${url}/api/v1/posts?per_page=1`, { key: ann.key })
  return (listed.json as unknown as { meta: { total: number } }).meta.total
}

/** Each node writes, and the next one counts. */
async function countWhileWriting(fixture: Fixture): Promise<void> {
  const { urls, ann } = fixture
  const before = await totalAt(fixture.url, fixture)
  let createdCount = 0
  const writing = urls.map(async (url, writer) => {
    for (let round = 0; round < rounds; round++) {
      const body = { title: `${round}`, body: '' }
      const posted = await call(`${url}/api/v1/posts`, { method: 'POST', key: ann.key, body })
      assert.equal(posted.status, 201)
      const least = before + ++createdCount
      const total = await totalAt(urls[(writer + 1) % urls.length] ?? '', fixture)
      assert.ok(total >= least, `${total} of at least ${least}`)
    }
  })
  await Promise.all(writing)
  for (const url of urls) assert.equal(await totalAt(url, fixture), before + urls.length * rounds)
}

/** Row security does not decide what is cached. */
const setups = [...nodeSetups, ...inWhole(rowSecurityNodes), replicatedNodes]

for (const setup of chosen(setups)) {
  suite(setup.name, () => {
    const withShared = sharedFixtures(setup)
    test(`each of ${writerCount} writers reads its writes on every node`, () => withShared(writeAndRead))
    test('the total is correct on every node while all nodes write', () => withShared(countWhileWriting))
  })
}

test(`each of ${writerCount} writers reads its writes on every node (${replicatedNodes.name} of two workers)`, () =>
  withFixture({ workers: 2, databaseConnections: 8 }, writeAndRead, blog, replicatedNodes))
