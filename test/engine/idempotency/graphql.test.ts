/** Atomic mutations, and mutations retried with their `Idempotency-Key` on any node. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import { call } from '../../server/serve/service.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { retryWhile } from './retry.ts'

interface Result {
  readonly status: number
  readonly text: string
  readonly replayed: string | null
  readonly data: Readonly<Record<string, { readonly id: string; readonly title: string }>> | null
  readonly errors: readonly {
    readonly message: string
    readonly path?: readonly string[]
    readonly extensions: { readonly code: string }
  }[]
}

interface OperationOptions {
  readonly idempotencyKey?: string
  readonly key?: string
  readonly variables?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends an operation to the next node in turn. */
function sender({ urls, ann }: Fixture) {
  let next = 0
  return async (query: string, sent: OperationOptions = {}): Promise<Result> => {
    const { idempotencyKey, key = ann.key, variables, headers } = sent
    const {
      status,
      text,
      json,
      headers: responseHeaders,
    } = await call(`${urls[next++ % urls.length]}/graphql`, {
      method: 'POST',
      key,
      body: { query, variables },
      headers: { ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }), ...headers },
    })
    const { data = null, errors = [] } = json as Partial<Result>
    return { status, text, replayed: responseHeaders.get('Idempotent-Replayed'), data, errors }
  }
}

async function titlesOf({ url }: Fixture, marker: string): Promise<readonly string[]> {
  const query = `{ posts(limit: 100, filter: { title: { contains: "${marker}" } }, orderBy: ID_ASC) { title } }`
  const { text } = await call(`${url}/graphql`, { method: 'POST', body: { query } })
  const { data } = JSON.parse(text) as { data: { posts: { title: string }[] } }
  return data.posts.map(({ title }) => title.replace(marker, ''))
}

/** The titles of created posts, in the order of the event log. */
async function eventsOf({ call: ask, ann }: Fixture, marker: string): Promise<readonly string[]> {
  const titles: string[] = []
  for (let after = '0'; ; ) {
    const path = `/api/v1/events?types=post.created&limit=1000&after=${after}`
    const { json } = await ask(path, { key: ann.key })
    const { data, meta } = json as {
      data: { data: { title: string } }[]
      meta: { next_after: string; has_more: boolean }
    }
    for (const { data: post } of data) {
      if (post.title.startsWith(marker)) titles.push(post.title.replace(marker, ''))
    }
    if (!meta.has_more) return titles
    after = meta.next_after
  }
}

const retryConflicts = (send: () => Promise<Result>) =>
  retryWhile(send, ({ errors }) => errors.some(({ extensions }) => extensions.code === 'CONFLICT'))

const codes = ({ errors }: Result) => errors.map(({ path, extensions }) => [path?.join('.'), extensions.code])

for (const setup of nodeSetups) {
  suite(`atomic mutations on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup)
    const create = (alias: string, title: string, ann: number, more = '') =>
      `${alias}: createPost(title: "${title}", authorId: ${ann}) { id title ${more} }`

    test('with @atomic the first error rolls back all fields', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const { ann } = fixture
        const marker = randomUUID()
        const [first, second] = [create('a', `${marker}1`, ann.id), create('b', `${marker}2`, ann.id)]
        const answer = await send(`mutation @atomic { ${first} __typename ${second} }`)
        assert.deepEqual(answer.errors, [])
        assert.deepEqual(Object.keys(answer.data ?? {}), ['a', '__typename', 'b'])
        assert.deepEqual(await titlesOf(fixture, marker), ['1', '2'])
        assert.deepEqual(await eventsOf(fixture, marker), ['1', '2'])

        const third = create('c', `${marker}3`, ann.id)
        const fourth = create('d', `${marker}4`, ann.id)
        const faults = [
          ['b: updatePost(id: 999999999, title: "x") { id }', 'NOT_FOUND'],
          ['b: deletePost(id: 999999999)', 'NOT_FOUND'],
          ['b: createPost(title: "x", authorId: 999999999) { id }', 'FORBIDDEN'],
          ['b: createUser(name: "B", email: "b@example.com") { id }', 'FORBIDDEN'],
          ['b: createApiKey(name: "k") { id }', 'BAD_REQUEST'],
          [`b: updateUser(id: ${ann.id}, email: "new@example.com") { id }`, 'BAD_REQUEST'],
        ] as const
        for (const [fault, code] of faults) {
          for (const fields of [`${third} ${fault}`, `${fault} ${third}`, `${third} ${fault} ${fourth}`]) {
            const undone = await send(`mutation @atomic { ${fields} }`)
            assert.equal(undone.data, null, fields)
            assert.deepEqual(codes(undone), [['b', code]], `${fields} ${undone.text}`)
          }
        }
        assert.deepEqual(await titlesOf(fixture, marker), ['1', '2'])
        // Without it, earlier fields stay applied.
        await send(`mutation { ${third} b: deletePost(id: 999999999) }`)
        assert.deepEqual(await titlesOf(fixture, marker), ['1', '2', '3'])
      })
    })

    test('fields see the changes of earlier fields', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const marker = randomUUID()
        const created = await send(`mutation { ${create('a', `${marker}1`, fixture.ann.id)} }`)
        const id = created.data?.a?.id
        const answer = await send(`mutation @atomic {
          a: updatePost(id: ${id}, title: "${marker}2") { title }
          b: updatePost(id: ${id}, body: "b") { title body }
          c: deletePost(id: ${id})
        }`)
        assert.deepEqual(answer.data, {
          a: { title: `${marker}2` },
          b: { title: `${marker}2`, body: 'b' },
          c: String(id),
        })
        assert.deepEqual(await titlesOf(fixture, marker), [])
        const alone = await send(
          'mutation @atomic { createApiKey(name: "alone", scopes: ["read:post"]) { id key } }',
        )
        assert.deepEqual(alone.errors, [], 'a collection with secrets can be written in a single field')
      })
    })

    test('a field whose result cannot be read is an error, too', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const marker = randomUUID()
        const { ann, url } = fixture
        const limited = await call(`${url}/api/v1/api_keys`, {
          method: 'POST',
          key: ann.key,
          body: { name: 'limited', scopes: ['write:post'] },
        })
        const key = String(limited.json.key)
        const first = create('a', `${marker}1`, ann.id)
        const two = create('b', `${marker}2`, ann.id, 'author { email }')
        const undone = await send(`mutation @atomic { ${first} ${two} }`, { key })
        assert.equal(undone.data, null)
        assert.deepEqual(codes(undone), [['b.author', 'INSUFFICIENT_SCOPE']], undone.text)
        assert.deepEqual(await titlesOf(fixture, marker), [])
      })
    })

    test('a mutation with a key is executed once, and its response replayed', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const marker = randomUUID()
        const idempotencyKey = randomUUID()
        const query = `mutation($title: String!) { createPost(title: $title, authorId: ${fixture.ann.id}) { id title } }`
        const sent = { idempotencyKey, variables: { title: `${marker}1` } }
        const all = await Promise.all(
          Array.from({ length: 12 }, () => retryConflicts(() => send(query, sent))),
        )
        assert.deepEqual(new Set(all.map(({ text }) => text)).size, 1, all.map(({ text }) => text).join('\n'))
        assert.equal(all.filter(({ replayed }) => replayed === null).length, 1)
        assert.equal(all[0]?.data?.createPost?.title, `${marker}1`)
        assert.deepEqual(await titlesOf(fixture, marker), ['1'])
        const reused = await send(query, { idempotencyKey, variables: { title: `${marker}2` } })
        assert.deepEqual(codes(reused), [[undefined, 'IDEMPOTENCY_KEY_REUSED']])
        const [event, again] = [
          await send(query, { ...sent, headers: { Accept: 'text/event-stream' } }),
          await send(query, sent),
        ]
        assert.match(event.text, /IDEMPOTENCY_KEY_REUSED/, 'another format is another request')
        assert.equal(again.replayed, 'true')
        assert.deepEqual(codes(await send(query, { ...sent, idempotencyKey: '' })), [
          [undefined, 'BAD_REQUEST'],
        ])
        const answer = await send('{ posts(limit: 1) { id } }', { idempotencyKey })
        assert.deepEqual([answer.errors, answer.replayed], [[], null], 'a query takes no key')
      })
    })

    test('with a key, several fields are all applied, or none and the key is free', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const { ann } = fixture
        const marker = randomUUID()
        const idempotencyKey = randomUUID()
        const fields = `${create('a', `${marker}1`, ann.id)} ${create('b', `${marker}2`, ann.id)}`
        const undone = await send(`mutation { ${fields} c: deletePost(id: 999999999) }`, { idempotencyKey })
        assert.deepEqual([undone.data, undone.replayed], [null, null])
        assert.deepEqual(codes(undone), [['c', 'NOT_FOUND']])
        assert.deepEqual(await titlesOf(fixture, marker), [])
        const answer = await send(`mutation { ${fields} }`, { idempotencyKey })
        assert.deepEqual(answer.errors, [])
        const second = await send(`mutation { ${fields} }`, { idempotencyKey })
        assert.deepEqual([second.text, second.replayed], [answer.text, 'true'])
        assert.deepEqual(await titlesOf(fixture, marker), ['1', '2'])
      })
    })

    test('a caller who can no longer read an item gets its id', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const marker = randomUUID()
        const idempotencyKey = randomUUID()
        const query = `mutation { ${create('a', `${marker}1`, fixture.ann.id)} }`
        const { data } = await send(query, { idempotencyKey })
        const id = data?.a?.id
        await send(`mutation { deletePost(id: ${id}) }`)
        const second = await send(query, { idempotencyKey })
        assert.deepEqual([second.data, second.replayed], [null, 'true'])
        assert.deepEqual(codes(second), [['a', 'NOT_FOUND']])
        assert.match(second.errors[0]?.message ?? '', new RegExp(`\\b${id}\\b`))
        assert.ok(!second.text.includes(marker))
      })
    })

    test('a secret is replayed', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const idempotencyKey = randomUUID()
        const query = 'mutation { createApiKey(name: "once", scopes: ["read:post"]) { id key } }'
        const created = await send(query, { idempotencyKey })
        assert.match(created.text, /"key":"pk_/)
        assert.equal((await send(query, { idempotencyKey })).text, created.text)
      })
    })

    test('the directive is part of the schema, on mutations only', async () => {
      await withFixture(async fixture => {
        const send = sender(fixture)
        const { text } = await send('{ __schema { directives { name locations } } }')
        assert.match(text, /\{"name":"atomic","locations":\["MUTATION"\]\}/)
        assert.deepEqual(codes(await send('query @atomic { me { id } }')), [[undefined, 'BAD_REQUEST']])
      })
    })
  })
}
