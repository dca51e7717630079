/** Conformance to GraphQL over HTTP: the audits of graphql-http, and published clients. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { createClient as createUrqlClient, fetchExchange, subscriptionExchange } from '@urql/core'
import {
  buildClientSchema,
  buildSchema,
  findBreakingChanges,
  getIntrospectionQuery,
  OperationTypeNode,
  printSchema,
} from 'graphql'
import { serverAudits } from 'graphql-http'
import { GraphQLClient } from 'graphql-request'
import { createClient as createSseClient } from 'graphql-sse'
import { admin, type Blog, openBlog } from './blog.ts'
import { client, sha256, until } from './service.ts'

let blog: Blog
before(async () => {
  blog = await openBlog()
})
after(() => blog.close())

const withCredential: typeof fetch = (input, init) =>
  fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...admin } })

describe('graphql-http', () => {
  const audits = serverAudits({ url: () => blog.graphql, fetchFn: withCredential })
  it('has 61 audits', () => assert.equal(audits.length, 61))
  for (const audit of audits) {
    it(`${audit.id} ${audit.name}`, async () => {
      const result = await audit.fn()
      assert.equal(result.status, 'ok', 'reason' in result ? result.reason : '')
    })
  }
})

describe('an introspection query', () => {
  const all = {
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  }
  for (const [name, options] of Object.entries({
    'without descriptions': { descriptions: false },
    'all enabled': all,
  })) {
    it(`returns the whole schema with options ${name}`, async () => {
      const requests = new GraphQLClient(blog.graphql, { headers: admin })
      const introspected = buildClientSchema(await requests.request(getIntrospectionQuery(options)))
      const whole = readFileSync(new URL('../../../docs/reference/blog.graphql', import.meta.url), 'utf8')
      const schema = buildSchema(whole)
      assert.deepEqual(findBreakingChanges(schema, introspected), [])
      if (options === all) assert.equal(`${printSchema(introspected)}\n`, whole)
    })
  }
})

const create = 'mutation Create($title: String!) { createPost(title: $title, authorId: 1) { id title } }'
const list = 'query List { posts { id title author { id email } } }'
const feed = 'subscription Feed { newPost { id title author { email } } }'

interface Post {
  readonly id: string
  readonly title: string
  readonly author: { readonly email: string }
}

/** Creates posts until the subscriber has received one: only the subscriber knows when it is connected. */
async function createUntil(hasReceived: () => boolean, title: string): Promise<void> {
  for (let tries = 0; tries < 1000 && !hasReceived(); tries++) {
    await blog.rest('POST', 'posts', { title })
    await until(hasReceived, 100).catch(() => {})
  }
  assert.ok(hasReceived(), 'the subscriber received nothing')
}

describe('Apollo Client', () => {
  const open = () => {
    const socket = client(blog.socket, admin)
    const http = new HttpLink({ uri: blog.graphql, headers: admin })
    const stored = new PersistedQueryLink({ sha256 })
    const link = ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(socket),
      ApolloLink.from([stored, http]),
    )
    const apollo = new ApolloClient({ link, cache: new InMemoryCache() })
    return { apollo, close: () => Promise.all([apollo.stop(), socket.dispose()]) }
  }
  it('queries, with persisted documents, and mutates', async () => {
    const { apollo, close } = open()
    const created = await apollo.mutate<{ createPost: Post }>({
      mutation: gql(create),
      variables: { title: 'apollo' },
    })
    assert.equal(created.data?.createPost.title, 'apollo')
    for (let round = 0; round < 2; round++) {
      const read = await apollo.query<{ posts: Post[] }>({ query: gql(list), fetchPolicy: 'network-only' })
      assert.ok(read.data?.posts.some(post => post.title === 'apollo'))
    }
    await close()
  })
  it('gets errors with their codes', async () => {
    const { apollo, close } = open()
    const query = gql('query Wrong { posts(limit: 101) { id } }')
    const failed = await apollo.query({ query, errorPolicy: 'all' })
    assert.match(JSON.stringify(failed.error), /BAD_REQUEST|100/)
    await close()
  })
  it('subscribes', async () => {
    const { apollo, close } = open()
    const received: (Post | undefined)[] = []
    const subscription = apollo
      .subscribe<{ newPost: Post }>({ query: gql(feed) })
      .subscribe(({ data }) => received.push(data?.newPost))
    await createUntil(() => received.length > 0, 'for apollo')
    assert.equal(received[0]?.title, 'for apollo')
    assert.equal(received[0]?.author.email, 'admin@example.com')
    subscription.unsubscribe()
    await close()
  })
})

describe('urql', () => {
  const open = () => {
    const socket = client(blog.socket, admin)
    const urql = createUrqlClient({
      url: blog.graphql,
      fetchOptions: { headers: admin },
      preferGetMethod: false,
      exchanges: [
        fetchExchange,
        subscriptionExchange({
          forwardSubscription: ({ query = '', variables }) => ({
            subscribe: sink => ({
              unsubscribe: socket.subscribe(
                { query, variables: variables as Record<string, unknown> },
                sink as never,
              ),
            }),
          }),
        }),
      ],
    })
    return { urql, close: () => socket.dispose() }
  }
  it('queries by POST and by GET, and mutates', async () => {
    const { urql, close } = open()
    const created = await urql.mutation(create, { title: 'urql' })
    assert.equal(created.error, undefined)
    for (const preferGetMethod of [false, 'force'] as const) {
      const read = await urql.query(list, {}, { preferGetMethod })
      assert.equal(read.error, undefined)
      assert.ok(read.data.posts.some((post: Post) => post.title === 'urql'))
    }
    await close()
  })
  it('subscribes over WebSocket', async () => {
    const { urql, close } = open()
    const received: Post[] = []
    const { unsubscribe } = urql.subscription(feed, {}).subscribe(({ data }) => received.push(data.newPost))
    await createUntil(() => received.length > 0, 'for urql')
    assert.equal(received[0]?.title, 'for urql')
    unsubscribe()
    await close()
  })
  it('subscribes over server-sent events', async () => {
    const urql = createUrqlClient({
      url: blog.graphql,
      fetchOptions: { headers: admin },
      preferGetMethod: false,
      fetchSubscriptions: true,
      exchanges: [fetchExchange],
    })
    const received: Post[] = []
    const { unsubscribe } = urql
      .subscription(feed, {})
      .subscribe(({ data }) => data && received.push(data.newPost))
    await createUntil(() => received.length > 0, 'for urql too')
    assert.equal(received[0]?.title, 'for urql too')
    unsubscribe()
  })
})

describe('graphql-request', () => {
  it('queries and mutates', async () => {
    const requests = new GraphQLClient(blog.graphql, { headers: admin })
    const { createPost } = await requests.request<{ createPost: Post }>(create, { title: 'request' })
    assert.equal(createPost.title, 'request')
    const { posts } = await requests.request<{ posts: Post[] }>(list)
    assert.ok(posts.some(post => post.title === 'request'))
  })
  it('gets errors', async () => {
    const requests = new GraphQLClient(blog.graphql, { headers: admin })
    await assert.rejects(requests.request('{ nothing }'), /Cannot query field/)
  })
})

describe('graphql-ws', () => {
  it('queries, mutates and subscribes', async () => {
    const socket = client(blog.socket, admin)
    const execute = (query: string, variables = {}) =>
      new Promise<Record<string, unknown> | null | undefined>((resolve, reject) => {
        let result: Record<string, unknown> | null | undefined
        socket.subscribe(
          { query, variables },
          { next: ({ data }) => (result = data), error: reject, complete: () => resolve(result) },
        )
      })
    const created = await execute(create, { title: 'ws' })
    assert.match(JSON.stringify(created), /"title":"ws"/)
    assert.match(JSON.stringify(await execute(list)), /"title":"ws"/)
    const subscription = socket.iterate<{ newPost: Post }>({ query: feed })
    const received: (Post | undefined)[] = []
    const reading = (async () => {
      for await (const { data } of subscription) {
        received.push(data?.newPost)
        return
      }
    })()
    await createUntil(() => received.length > 0, 'for ws')
    await reading
    assert.equal(received[0]?.title, 'for ws')
    await socket.dispose()
  })
})

describe('graphql-sse', () => {
  it('queries, mutates and subscribes', async () => {
    const sse = createSseClient({ url: blog.graphql, headers: admin, retryAttempts: 0 })
    const results: unknown[] = []
    for (const [query, variables] of [
      [create, { title: 'sse' }],
      [list, {}],
    ] as const) {
      for await (const result of sse.iterate({ query, variables })) results.push(result.data)
    }
    assert.equal(results.length, 2)
    assert.match(JSON.stringify(results), /"title":"sse"/)
    const received: Post[] = []
    const stop = sse.subscribe<{ newPost: Post }>(
      { query: feed },
      { next: ({ data }) => data && received.push(data.newPost), error: assert.fail, complete: () => {} },
    )
    await createUntil(() => received.length > 0, 'for sse')
    assert.equal(received[0]?.title, 'for sse')
    stop()
    sse.dispose()
  })
})
