/** An app on Relay that uses its hooks and compiled documents. Prints the result of each step. */
import {
  useLazyLoadQuery,
  useMutation,
  usePaginationFragment,
  useRefetchableFragment,
  useSubscription,
} from 'react-relay'
import {
  ConnectionHandler,
  commitMutation,
  fetchQuery,
  type GraphQLTaggedNode,
  type MutationConfig,
  type MutationParameters,
} from 'relay-runtime'
import Added, { type AddedSubscription } from './__generated__/AddedSubscription.graphql'
import AuthorPosts, { type Author_posts$key } from './__generated__/Author_posts.graphql'
import type { AuthorPaginationQuery } from './__generated__/AuthorPaginationQuery.graphql'
import Author, { type AuthorQuery } from './__generated__/AuthorQuery.graphql'
import Create, { type CreateMutation } from './__generated__/CreateMutation.graphql'
import Delete, { type DeleteMutation } from './__generated__/DeleteMutation.graphql'
import FeedPosts, { type Feed_posts$key } from './__generated__/Feed_posts.graphql'
import type { FeedPaginationQuery } from './__generated__/FeedPaginationQuery.graphql'
import Feed, { type FeedQuery } from './__generated__/FeedQuery.graphql'
import Node, { type NodeQuery } from './__generated__/NodeQuery.graphql'
import PostWhole, { type Post_whole$key } from './__generated__/Post_whole.graphql'
import Post, { type PostQuery } from './__generated__/PostQuery.graphql'
import type { PostRefetchQuery } from './__generated__/PostRefetchQuery.graphql'
import Update, { type UpdateMutation } from './__generated__/UpdateMutation.graphql'
import { byRest, environment, socket } from './environment'
import { closeAll, type Shown, show } from './shown'

const words = 'relay'

function useFeed() {
  const query = useLazyLoadQuery<FeedQuery>(Feed, { count: 2, words })
  return usePaginationFragment<FeedPaginationQuery, Feed_posts$key>(FeedPosts, query)
}

type FeedShown = Shown<ReturnType<typeof useFeed>>

const titlesOf = ({ data }: ReturnType<typeof useFeed>) =>
  data.postsConnection.edges.map(({ node }) => node.title)

async function pages(feed: FeedShown) {
  const first = titlesOf(feed.now)
  let loads = 0
  for (; feed.now.hasNext; loads++) {
    const before = titlesOf(feed.now).length
    await feed.until(
      now => titlesOf(now).length > before && !now.isLoadingNext,
      () => feed.now.loadNext(2),
    )
  }
  const { totalCount, edges } = feed.now.data.postsConnection
  return { first, all: titlesOf(feed.now), loads, total: totalCount, author: edges[0]?.node.author.name }
}

async function pagesFromTheEnd() {
  const author = await show(() => {
    const { user } = useLazyLoadQuery<AuthorQuery>(Author, { id: '1', last: 2 })
    if (!user) throw new Error('there is no user 1')
    return usePaginationFragment<AuthorPaginationQuery, Author_posts$key>(AuthorPosts, user)
  })
  const titles = () => author.now.data.postsConnection.edges.map(({ node }) => node.title)
  const last = titles()
  await author.until(
    () => titles().length > 2,
    () => author.now.loadPrevious(2),
  )
  return { last, more: titles() }
}

async function refetches(feed: FeedShown) {
  const newest = feed.now.data.postsConnection.edges[0]?.node.id ?? ''
  const whole = await show(() => {
    const { post } = useLazyLoadQuery<PostQuery>(Post, { id: newest })
    if (!post) throw new Error(`there is no post ${newest}`)
    return useRefetchableFragment<PostRefetchQuery, Post_whole$key>(PostWhole, post)
  })
  const was = whole.now[0].body
  await byRest('PATCH', `posts/${newest}`, { title: 'relay refetched', body: 'later' })
  await whole.until(
    ([data]) => data.body !== was,
    () => whole.now[1]({}, { fetchPolicy: 'network-only' }),
  )
  const { title, body } = whole.now[0]
  await feed.until(() => true)
  return { was, title, body, inFeed: titlesOf(feed.now)[0] }
}

async function finds() {
  const found: unknown[] = []
  for (const nodeId of ['User:1', 'Post:1', 'Post:4711']) {
    found.push(await fetchQuery<NodeQuery>(environment, Node, { nodeId }).toPromise())
  }
  return found
}

function mutate<T extends MutationParameters>(
  mutation: GraphQLTaggedNode,
  variables: T['variables'],
  how: Partial<MutationConfig<T>> = {},
): Promise<readonly string[]> {
  return new Promise(resolve =>
    commitMutation<T>(environment, {
      mutation,
      variables,
      onCompleted: (_, errors) => resolve((errors ?? []).map(({ message }) => message)),
      onError: ({ message }) => resolve([message]),
      ...how,
    }),
  )
}

async function changes(feed: FeedShown) {
  const creating = await show(() => useMutation<CreateMutation>(Create))
  const connections = [feed.now.data.postsConnection.__id]
  const before = titlesOf(feed.now).length
  await feed.until(
    now => titlesOf(now).length > before,
    () => creating.now[0]({ variables: { title: 'relay made', connections } }),
  )
  const [edge] = feed.now.data.postsConnection.edges
  const { id = '', title: afterCreate } = edge?.node ?? {}
  const nodeId = `Post:${id}`
  const first = (title: string) => feed.until(now => titlesOf(now)[0] === title)
  await mutate<UpdateMutation>(Update, { id, title: 'relay renamed' })
  await first('relay renamed')
  const refused = mutate<UpdateMutation>(
    Update,
    { id, title: 'relay '.repeat(100) },
    { optimisticResponse: { updatePost: { nodeId, title: 'relay hoped' } } },
  )
  await first('relay hoped')
  const errors = await refused
  await first('relay renamed')
  await mutate<DeleteMutation>(
    Delete,
    { id },
    {
      updater: store => {
        const connection = ConnectionHandler.getConnection(store.getRoot(), 'Feed_postsConnection')
        if (connection) ConnectionHandler.deleteNode(connection, nodeId)
        store.delete(nodeId)
      },
    },
  )
  await feed.until(now => titlesOf(now).length === before)
  return { afterCreate, errors, afterDelete: titlesOf(feed.now)[0] }
}

async function hears(feed: FeedShown) {
  const variables = { connections: [feed.now.data.postsConnection.__id] }
  const { length } = titlesOf(feed.now)
  const config = { subscription: Added, variables, onError: (cause: Error) => console.error(cause) }
  await show(() => useSubscription<AddedSubscription>(config))
  let heard = false
  // Only the subscriber knows when it is connected.
  for (let tries = 0; tries < 1000 && !heard; tries++) {
    await byRest('POST', 'posts', { title: 'relay heard', author_id: 1 })
    await new Promise(next => setTimeout(next, 100))
    await feed.until(() => true)
    heard = titlesOf(feed.now).length > length
  }
  return titlesOf(feed.now)[0]
}

async function main(): Promise<void> {
  const feed = await show(useFeed)
  const seen: Record<string, unknown> = {}
  for (const [name, step] of Object.entries({ pages, pagesFromTheEnd, refetches, finds, changes, hears })) {
    seen[name] = await step(feed)
  }
  await closeAll()
  await socket.dispose()
  // Relay's hooks keep loaded data for another five minutes, with timers.
  process.stdout.write(JSON.stringify(seen), () => process.exit())
}

void main()
