/** What an app on Relay does, by its runtime and what its compiler made. Prints what it saw at each step. */
import { type Client, createClient } from 'graphql-ws'
import {
  ConnectionHandler,
  commitMutation,
  createOperationDescriptor,
  Environment,
  type FetchFunction,
  fetchQuery,
  type GraphQLTaggedNode,
  getPaginationMetadata,
  getPaginationVariables,
  getRefetchMetadata,
  getSingularSelector,
  type MutationConfig,
  type MutationParameters,
  Network,
  Observable,
  type OperationType,
  type ReaderFragment,
  RecordSource,
  requestSubscription,
  Store,
  type SubscribeFunction,
  type Variables,
} from 'relay-runtime'
import Added, { type AddedSubscription } from './__generated__/AddedSubscription.graphql'
import AuthorPosts, { type Author_posts$data } from './__generated__/Author_posts.graphql'
import Author, { type AuthorQuery } from './__generated__/AuthorQuery.graphql'
import Create, { type CreateMutation } from './__generated__/CreateMutation.graphql'
import Delete, { type DeleteMutation } from './__generated__/DeleteMutation.graphql'
import FeedPosts, { type Feed_posts$data } from './__generated__/Feed_posts.graphql'
import Feed, { type FeedQuery } from './__generated__/FeedQuery.graphql'
import Node, { type NodeQuery } from './__generated__/NodeQuery.graphql'
import PostWhole, { type Post_whole$data } from './__generated__/Post_whole.graphql'
import Post, { type PostQuery } from './__generated__/PostQuery.graphql'
import Update, { type UpdateMutation } from './__generated__/UpdateMutation.graphql'

const { GRAPHQL_URL = '', TOKEN = '' } = process.env
const Authorization = `Bearer ${TOKEN}`

// --- the network

const fetchFunction: FetchFunction = async ({ id }, variables) => {
  const answered = await fetch(GRAPHQL_URL, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization },
    body: JSON.stringify({ documentId: `sha256:${id}`, variables }),
  })
  return answered.json()
}

const socket: Client = createClient({
  url: GRAPHQL_URL.replace('http', 'ws'),
  connectionParams: { Authorization },
})

const subscribeFunction: SubscribeFunction = ({ id }, variables) =>
  Observable.create(sink => {
    // The protocol of graphql-ws requires a text.
    const request = { query: '', documentId: `sha256:${id}`, variables }
    return socket.subscribe(request, {
      next: payload => sink.next(payload as never),
      error: cause => sink.error(new Error(JSON.stringify(cause))),
      complete: () => sink.complete(),
    })
  })

const environment = new Environment({
  network: Network.create(fetchFunction, subscribeFunction),
  store: new Store(new RecordSource()),
  getDataID: ({ nodeId }) => nodeId,
})

// --- what hooks do

async function load<T extends OperationType>(
  query: GraphQLTaggedNode,
  variables: T['variables'],
): Promise<unknown> {
  environment.retain(createOperationDescriptor(query as never, variables))
  return fetchQuery<T>(environment, query, variables, { fetchPolicy: 'network-only' }).toPromise()
}

function read<Data>(fragment: ReaderFragment, parent: unknown): Data {
  const selector = getSingularSelector(fragment, parent)
  if (!selector) throw new Error(`nothing is selected by ${fragment.name}`)
  const { data, isMissingData } = environment.lookup(selector as never)
  if (isMissingData) throw new Error(`${fragment.name} has holes`)
  return data as unknown as Data
}

/** The next page of a connection, or the one before it, as `usePaginationFragment` asks for it. */
async function more(
  fragment: ReaderFragment,
  parent: unknown,
  direction: 'forward' | 'backward',
  base: Variables,
): Promise<boolean> {
  const { connectionPathInFragmentData, paginationRequest, paginationMetadata } = getPaginationMetadata(
    fragment,
    'more',
  )
  const { identifierInfo } = getRefetchMetadata(fragment, 'more')
  let connection: unknown = read(fragment, parent)
  for (const key of connectionPathInFragmentData) connection = (connection as Record<string, unknown>)[key]
  const { pageInfo } = connection as { pageInfo: Readonly<Record<string, string | boolean>> }
  const isForward = direction === 'forward'
  if (!pageInfo[isForward ? 'hasNextPage' : 'hasPreviousPage']) return false
  const cursor = String(pageInfo[isForward ? 'endCursor' : 'startCursor'])
  const variables = getPaginationVariables(direction, 2, cursor, base, {}, paginationMetadata)
  const { identifierField, identifierQueryVariableName } = identifierInfo ?? {}
  const id = identifierField
    ? (read(fragment, parent) as Record<string, unknown>)[identifierField]
    : undefined
  const named = identifierQueryVariableName ? { [identifierQueryVariableName]: id } : {}
  await load(paginationRequest as never, { ...variables, ...named })
  return true
}

function mutate<T extends MutationParameters>(
  mutation: GraphQLTaggedNode,
  variables: T['variables'],
  how: Partial<MutationConfig<T>> = {},
): Promise<{ readonly response: T['response'] | undefined; readonly errors: readonly string[] }> {
  return new Promise(resolve =>
    commitMutation<T>(environment, {
      mutation,
      variables,
      onCompleted: (response, errors) =>
        resolve({ response, errors: (errors ?? []).map(({ message }) => message) }),
      onError: ({ message }) => resolve({ response: undefined, errors: [message] }),
      ...how,
    }),
  )
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 10 && !condition(); tries++) await new Promise(next => setTimeout(next, 20))
}

/** A change that Relay does not see. */
async function byRest(method: string, path: string, body: object): Promise<void> {
  const url = new URL(`/api/v1/${path}`, GRAPHQL_URL)
  const headers = { 'Content-Type': 'application/json', Authorization }
  const { ok, status } = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!ok) throw new Error(`${method} ${path}: ${status}`)
}

// --- the app

const words = 'relay'
const root = environment.lookup(createOperationDescriptor(Feed, { count: 2, words }).fragment).data
const feed = () => read<Feed_posts$data>(FeedPosts, root).postsConnection
const titles = () => feed().edges.map(({ node }) => node.title)

async function pages() {
  await load<FeedQuery>(Feed, { count: 2, words })
  const first = titles()
  let loads = 0
  while (await more(FeedPosts, root, 'forward', { count: 2, words })) loads++
  return { first, all: titles(), loads, total: feed().totalCount, author: feed().edges[0]?.node.author.name }
}

async function pagesFromTheEnd() {
  const variables = { id: '1', last: 2 }
  await load<AuthorQuery>(Author, variables)
  const { user } = environment.lookup(createOperationDescriptor(Author, variables).fragment)
    .data as unknown as AuthorQuery['response']
  const listed = () =>
    read<Author_posts$data>(AuthorPosts, user).postsConnection.edges.map(({ node }) => node.title)
  const last = listed()
  await more(AuthorPosts, user, 'backward', variables)
  return { last, more: listed() }
}

async function refetches() {
  const newest = feed().edges[0]?.node
  await load<PostQuery>(Post, { id: newest?.id ?? '' })
  const { post } = environment.lookup(createOperationDescriptor(Post, { id: newest?.id ?? '' }).fragment)
    .data as unknown as PostQuery['response']
  const before = read<Post_whole$data>(PostWhole, post)
  await byRest('PATCH', `posts/${newest?.id}`, { title: 'relay refetched', body: 'later' })
  const { refetchableRequest, identifierInfo } = getRefetchMetadata(PostWhole, 'refetch')
  const id = (before as unknown as Record<string, unknown>)[identifierInfo?.identifierField ?? '']
  await load(refetchableRequest as never, { [identifierInfo?.identifierQueryVariableName ?? '']: id })
  const { title, body } = read<Post_whole$data>(PostWhole, post)
  return { identifier: String(id).replace(/\d+$/, ''), was: before.body, title, body, inFeed: titles()[0] }
}

async function finds() {
  const found: unknown[] = []
  for (const nodeId of ['User:1', 'Post:1', 'Post:4711']) {
    found.push(await fetchQuery<NodeQuery>(environment, Node, { nodeId }).toPromise())
  }
  return found
}

async function changes() {
  const connections = [feed().__id]
  const made = await mutate<CreateMutation>(Create, { title: 'relay made', connections })
  const afterCreate = titles()[0]
  const id = made.response?.createPost.id ?? ''
  await mutate<UpdateMutation>(Update, { id, title: 'relay renamed' })
  const afterUpdate = titles()[0]
  const optimistic: (string | undefined)[] = []
  const nodeId = `Post:${id}`
  const refused = mutate<UpdateMutation>(
    Update,
    { id, title: 'relay '.repeat(100) },
    { optimisticResponse: { updatePost: { nodeId, title: 'relay hoped' } } },
  )
  optimistic.push(titles()[0])
  const { errors } = await refused
  optimistic.push(titles()[0])
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
  return { afterCreate, afterUpdate, optimistic, errors, afterDelete: titles()[0] }
}

async function hears() {
  const subscription = requestSubscription<AddedSubscription>(environment, {
    subscription: Added,
    variables: { connections: [feed().__id] },
    onError: cause => console.error(cause),
  })
  const before = titles().length
  // The subscriber alone knows when it is connected.
  for (let tries = 0; tries < 50 && titles().length === before; tries++) {
    await byRest('POST', 'posts', { title: 'relay heard', author_id: 1 })
    await until(() => titles().length > before)
  }
  subscription.dispose()
  return titles()[0]
}

async function main(): Promise<void> {
  const steps = { pages, pagesFromTheEnd, refetches, finds, changes, hears }
  const seen: Record<string, unknown> = {}
  for (const [name, step] of Object.entries(steps)) seen[name] = await step()
  console.log(JSON.stringify(seen))
  await socket.dispose()
}

void main()
