/** The events of subscribers, compared with graphql-js and a naive resolver at the time of each change. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { type GraphQLSchema, getNamedType, isLeafType, isObjectType } from 'graphql'
import { WebSocket } from 'ws'
import type { Collection } from '../../../src/model/model.ts'
import { naiveReply } from '../../api/graphql/naive.ts'
import type { Data } from '../../engine/plan/reference.ts'
import { model } from './context.ts'
import type { Credential } from './credentials.ts'

type Kind = 'created' | 'updated' | 'deleted'
export type Transport = 'WebSocket' | 'SSE'

interface Topic {
  readonly collection: Collection
  readonly kind: Kind
  /** The name of the subscription’s root field, and of the query for one item. */
  readonly root: string
  readonly item: string
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const pascal = (name: string) => camel(`_${name}`)

/** Every event of every collection. */
export function topics(schema: GraphQLSchema): readonly Topic[] {
  const roots = schema.getSubscriptionType()?.getFields() ?? {}
  const logged = [...model.collections.values()].filter(({ unlogged }) => !unlogged)
  const topics = logged.flatMap((collection): Topic[] => {
    const item = camel(collection.singular)
    return [
      { collection, kind: 'created', root: `new${pascal(collection.singular)}`, item },
      { collection, kind: 'updated', root: `${item}Updated`, item },
      { collection, kind: 'deleted', root: `${item}Deleted`, item },
    ]
  })
  for (const { root } of topics) assert.ok(roots[root], root)
  assert.equal(topics.length, Object.keys(roots).length)
  return topics
}

/** Every field of a type, with only the id of its relations. */
function fieldsOf(schema: GraphQLSchema, { root }: Topic): readonly string[] {
  const type = getNamedType(schema.getSubscriptionType()?.getFields()[root]?.type)
  assert.ok(isObjectType(type))
  return Object.values(type.getFields()).flatMap(({ name, type: fieldType, args }) => {
    if (isLeafType(getNamedType(fieldType))) return [name]
    return args.length === 0 ? [`${name} { id }`] : []
  })
}

interface View {
  readonly schema: GraphQLSchema
  readonly data: Data
  readonly credential: Credential
}

/** The response to a query for the item: undefined if the item is not visible. */
function itemAt(
  { schema, data, credential }: View,
  { item }: Topic,
  id: number,
  fields: readonly string[],
): { readonly item: unknown; readonly codes: readonly string[] } {
  const source = `{ seen: ${item}(id: ${id}) { ${fields.join(' ')} } }`
  const { data: actual, errors } = naiveReply(
    { model, data, schema, who: credential.who },
    { source, variables: {} },
  )
  const codes = errors.map(({ extensions }) => ('code' in extensions ? extensions.code : ''))
  return { item: (actual as { seen?: unknown } | null)?.seen ?? undefined, codes }
}

/** The fields that the reference allows this credential to select. */
export function allowedFields(view: View, topic: Topic): readonly string[] {
  const [row] = view.data[topic.collection.name] ?? []
  const id = Number(row?.id ?? 0)
  return fieldsOf(view.schema, topic).filter(
    field => !itemAt(view, topic, id, [field]).codes.some(code => code !== 'NOT_FOUND'),
  )
}

export interface Feed {
  readonly topic: Topic
  readonly fields: readonly string[]
  /** The received and the expected events. */
  readonly received: unknown[]
  readonly expected: unknown[]
}

export interface Subscriber {
  readonly credential: Credential
  readonly transport: Transport
  readonly feeds: readonly Feed[]
  /** Resolves with the reason when the service has ended every subscription. */
  readonly end: Promise<string>
  isEnded(): boolean
  close(): void
}

/** Replaces an update that hides the item from a subscriber who has selected required values. */
export const departure = 'the item is no longer visible, and its values are withheld'

interface Payload {
  readonly data?: { readonly seen?: unknown } | null
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

function eventIn(payload: Payload): unknown {
  const { data, errors } = payload
  const hasLeft = data === null && errors?.every(({ extensions: { code } }) => code === 'NOT_FOUND')
  return data?.seen ?? (hasLeft ? departure : payload)
}

function document({ root }: Topic, fields: readonly string[]): string {
  return `subscription { seen: ${root} { ${fields.join(' ')} } }`
}

/** One WebSocket with an operation for each topic. */
async function byWebSocket(url: string, credential: Credential, feeds: readonly Feed[]): Promise<Subscriber> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: credential.headers,
  })
  let isClosed = false
  const end = new Promise<string>(resolve => {
    socket.on('close', (code, reason) => {
      isClosed = true
      resolve(`${code} ${reason}`)
    })
  })
  const refused: string[] = []
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('open', () => socket.send('{"type":"connection_init"}'))
    socket.on('message', data => {
      const { type, id, payload } = JSON.parse(String(data))
      if (type === 'connection_ack') resolve()
      if (type === 'next') feeds[Number(id)]?.received.push(eventIn(payload))
      if (type === 'error') refused.push(`${id} ${JSON.stringify(payload)}`)
    })
  })
  for (const [index, { topic, fields }] of feeds.entries())
    socket.send(
      JSON.stringify({ id: String(index), type: 'subscribe', payload: { query: document(topic, fields) } }),
    )
  // The pong comes after the responses to all earlier messages.
  await new Promise<void>(resolve => {
    socket.on('message', data => {
      if (JSON.parse(String(data)).type === 'pong') resolve()
    })
    socket.send('{"type":"ping"}')
  })
  assert.deepEqual(refused, [], credential.name)
  return {
    credential,
    transport: 'WebSocket',
    feeds,
    end,
    isEnded: () => isClosed,
    close: () => socket.close(),
  }
}

async function readEvents(response: Response, feed: Feed): Promise<void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true })
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const event = rest.slice(0, end)
      rest = rest.slice(end + 2)
      const data = /^data: ?(.+)$/m.exec(event)?.[1]
      if (/^event: ?next$/m.test(event) && data) feed.received.push(eventIn(JSON.parse(data)))
    }
  }
}

/** A stream of server-sent events for each topic. */
async function byEvents(url: string, credential: Credential, feeds: readonly Feed[]): Promise<Subscriber> {
  const stop = new AbortController()
  let isClosed = false
  const streams = await Promise.all(
    feeds.map(async feed => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...credential.headers, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: JSON.stringify({ query: document(feed.topic, feed.fields) }),
        signal: stop.signal,
      })
      assert.match(String(response.headers.get('content-type')), /^text\/event-stream/, credential.name)
      // In an object: the returned promise would be awaited until the end of the stream.
      return { read: readEvents(response, feed) }
    }),
  )
  const end = Promise.allSettled(streams.map(({ read }) => read)).then(() => {
    isClosed = true
    return 'every stream has ended'
  })
  return { credential, transport: 'SSE', feeds, end, isEnded: () => isClosed, close: () => stop.abort() }
}

/** Subscribes to those of the topics that the credential may see. */
export async function subscribe(
  url: string,
  view: View,
  all: readonly Topic[],
  transport: Transport,
): Promise<Subscriber> {
  const feeds = all.flatMap((topic): Feed[] => {
    const fields = allowedFields(view, topic)
    return fields.length === 0 ? [] : [{ topic, fields, received: [], expected: [] }]
  })
  return transport === 'SSE'
    ? byEvents(url, view.credential, feeds)
    : byWebSocket(url, view.credential, feeds)
}

interface Change {
  readonly collection: string
  readonly kind: Kind
  readonly id: number
  /** The data before an update. */
  readonly before?: Data
}

/** Records what each subscriber must receive for a change; returns the number of events. */
export function expectEvents(
  subscribers: readonly Subscriber[],
  schema: GraphQLSchema,
  data: Data,
  change: Change,
): number {
  let count = 0
  for (const { credential, feeds } of subscribers) {
    for (const { topic, fields, expected } of feeds) {
      if (topic.collection.name !== change.collection) continue
      const due = dueOf({ schema, data, credential }, topic, change, fields)
      if (due === undefined) continue
      expected.push(due)
      count++
    }
  }
  return count
}

function dueOf(view: View, topic: Topic, change: Change, fields: readonly string[]): unknown {
  const { item } = itemAt(view, topic, change.id, fields)
  if (change.before === undefined) return topic.kind === change.kind ? item : undefined
  const { item: seenBefore } = itemAt({ ...view, data: change.before }, topic, change.id, fields)
  if (topic.kind === 'updated') return isDeepStrictEqual(item, seenBefore) ? undefined : item
  return topic.kind === 'deleted' && item === undefined && seenBefore !== undefined ? departure : undefined
}

export interface ErrorStream {
  readonly name: string
  readonly code: string
  text(): string
  close(): void
}

/** Subscribes to a field that the credential may not select, and collects the text of the stream. */
export async function subscribeToRefused(
  url: string,
  credential: Credential,
  topic: Topic,
  [field, code]: readonly [field: string, code: string],
): Promise<ErrorStream> {
  const stop = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { ...credential.headers, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query: document(topic, [field]) }),
    signal: stop.signal,
  })
  let text = ''
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true })
  }
  // Closing the stream rejects.
  read().catch(() => undefined)
  return {
    name: `${credential.name}: ${document(topic, [field])}`,
    code,
    text: () => text,
    close: () => stop.abort(),
  }
}

/** The leaf fields that the reference refuses this credential, each with its error code. */
export function refusedFields(view: View, topic: Topic): readonly (readonly [field: string, code: string])[] {
  const [row] = view.data[topic.collection.name] ?? []
  const leaves = fieldsOf(view.schema, topic).filter(field => !field.includes('{'))
  return leaves.flatMap(field => {
    const code = itemAt(view, topic, Number(row?.id ?? 0), [field]).codes.find(code => code !== 'NOT_FOUND')
    return code === undefined ? [] : [[field, code] as const]
  })
}
