/** What subscribers hear, held to graphql-js over a naive resolver at the moment of each change. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { type GraphQLSchema, getNamedType, isLeafType, isObjectType } from 'graphql'
import { WebSocket } from 'ws'
import type { Collection } from '../../src/model/model.ts'
import { naiveReply } from '../graphql/naive.ts'
import type { Data } from '../plan/reference.ts'
import { model } from './context.ts'
import type { Credential } from './credentials.ts'

type Kind = 'created' | 'updated' | 'deleted'
export type Transport = 'WebSocket' | 'SSE'

interface Topic {
  readonly of: Collection
  readonly kind: Kind
  /** The subscription's root field, and the query's for one item. */
  readonly root: string
  readonly item: string
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const pascal = (name: string) => camel(`_${name}`)

/** Every event of every collection. */
export function topics(schema: GraphQLSchema): readonly Topic[] {
  const roots = schema.getSubscriptionType()?.getFields() ?? {}
  const logged = [...model.collections.values()].filter(({ unlogged }) => !unlogged)
  const found = logged.flatMap((of): Topic[] => {
    const item = camel(of.singular)
    return [
      { of, kind: 'created', root: `new${pascal(of.singular)}`, item },
      { of, kind: 'updated', root: `${item}Updated`, item },
      { of, kind: 'deleted', root: `${item}Deleted`, item },
    ]
  })
  for (const { root } of found) assert.ok(roots[root], root)
  assert.equal(found.length, Object.keys(roots).length)
  return found
}

/** Every field of a type, and of what it refers to its id. */
function fieldsOf(schema: GraphQLSchema, { root }: Topic): readonly string[] {
  const type = getNamedType(schema.getSubscriptionType()?.getFields()[root]?.type)
  assert.ok(isObjectType(type))
  return Object.values(type.getFields()).flatMap(({ name, type: each, args }) => {
    if (isLeafType(getNamedType(each))) return [name]
    return args.length === 0 ? [`${name} { id }`] : []
  })
}

interface Asking {
  readonly schema: GraphQLSchema
  readonly data: Data
  readonly by: Credential
}

/** What a query for the item would tell: undefined where it is not seen. */
function itemAt(
  { schema, data, by }: Asking,
  { item }: Topic,
  id: number,
  fields: readonly string[],
): { readonly seen: unknown; readonly codes: readonly string[] } {
  const source = `{ seen: ${item}(id: ${id}) { ${fields.join(' ')} } }`
  const { data: got, errors } = naiveReply({ model, data, schema, who: by.who }, { source, variables: {} })
  const codes = errors.map(({ extensions }) => ('code' in extensions ? extensions.code : ''))
  return { seen: (got as { seen?: unknown } | null)?.seen ?? undefined, codes }
}

/** The fields that this credential may name at all, by the reference. */
export function allowedFields(asking: Asking, topic: Topic): readonly string[] {
  const [row] = asking.data[topic.of.name] ?? []
  const id = Number(row?.id ?? 0)
  return fieldsOf(asking.schema, topic).filter(
    field => !itemAt(asking, topic, id, [field]).codes.some(code => code !== 'NOT_FOUND'),
  )
}

export interface Heard {
  readonly topic: Topic
  readonly fields: readonly string[]
  /** What came, and what should have. */
  readonly got: unknown[]
  readonly expected: unknown[]
}

export interface Subscriber {
  readonly by: Credential
  readonly transport: Transport
  readonly heard: readonly Heard[]
  /** When the service has ended all of it: the reason. */
  readonly ended: Promise<string>
  isOver(): boolean
  close(): void
}

/** Stands for the reply to an update that takes an item from view, where the selection needs values. */
export const departure = 'no values of it may be told'

interface Payload {
  readonly data?: { readonly seen?: unknown } | null
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
}

function heardIn(payload: Payload): unknown {
  const { data, errors } = payload
  const hasLeft = data === null && errors?.every(({ extensions: { code } }) => code === 'NOT_FOUND')
  return data?.seen ?? (hasLeft ? departure : payload)
}

function document({ root }: Topic, fields: readonly string[]): string {
  return `subscription { seen: ${root} { ${fields.join(' ')} } }`
}

interface Place {
  readonly url: string
}

/** A WebSocket with one operation for each topic. */
async function byWebSocket({ url }: Place, by: Credential, heard: readonly Heard[]): Promise<Subscriber> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: by.headers,
  })
  let over = false
  const ended = new Promise<string>(resolve => {
    socket.on('close', (code, reason) => {
      over = true
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
      if (type === 'next') heard[Number(id)]?.got.push(heardIn(payload))
      if (type === 'error') refused.push(`${id} ${JSON.stringify(payload)}`)
    })
  })
  for (const [at, { topic, fields }] of heard.entries())
    socket.send(
      JSON.stringify({ id: String(at), type: 'subscribe', payload: { query: document(topic, fields) } }),
    )
  // The answer to a ping comes after those to everything before it.
  await new Promise<void>(resolve => {
    socket.on('message', data => {
      if (JSON.parse(String(data)).type === 'pong') resolve()
    })
    socket.send('{"type":"ping"}')
  })
  assert.deepEqual(refused, [], by.what)
  return { by, transport: 'WebSocket', heard, ended, isOver: () => over, close: () => socket.close() }
}

async function readEvents(response: Response, heard: Heard): Promise<void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true })
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const event = rest.slice(0, end)
      rest = rest.slice(end + 2)
      const data = /^data: ?(.+)$/m.exec(event)?.[1]
      if (/^event: ?next$/m.test(event) && data) heard.got.push(heardIn(JSON.parse(data)))
    }
  }
}

/** A stream of server-sent events for each topic. */
async function byEvents({ url }: Place, by: Credential, heard: readonly Heard[]): Promise<Subscriber> {
  const stop = new AbortController()
  let over = false
  const streams = await Promise.all(
    heard.map(async each => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...by.headers, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: JSON.stringify({ query: document(each.topic, each.fields) }),
        signal: stop.signal,
      })
      assert.match(String(response.headers.get('content-type')), /^text\/event-stream/, by.what)
      // As a member: a promise would be waited for until the stream's end.
      return { read: readEvents(response, each) }
    }),
  )
  const ended = Promise.allSettled(streams.map(({ read }) => read)).then(() => {
    over = true
    return 'every stream has ended'
  })
  return { by, transport: 'SSE', heard, ended, isOver: () => over, close: () => stop.abort() }
}

/** What of these topics the credential may subscribe to, and does. */
export async function subscribe(
  place: Place,
  asking: Asking,
  all: readonly Topic[],
  transport: Transport,
): Promise<Subscriber> {
  const heard = all.flatMap((topic): Heard[] => {
    const fields = allowedFields(asking, topic)
    return fields.length === 0 ? [] : [{ topic, fields, got: [], expected: [] }]
  })
  return transport === 'SSE' ? byEvents(place, asking.by, heard) : byWebSocket(place, asking.by, heard)
}

interface Change {
  readonly collection: string
  readonly kind: Kind
  readonly id: number
  /** The data before an update. */
  readonly before?: Data
}

/** Notes what each of the subscribers must hear of a change. Returns how many must. */
export function expect(
  subscribers: readonly Subscriber[],
  schema: GraphQLSchema,
  data: Data,
  change: Change,
): number {
  let count = 0
  for (const { by, heard } of subscribers) {
    for (const { topic, fields, expected } of heard) {
      if (topic.of.name !== change.collection) continue
      const due = dueOf({ schema, data, by }, topic, change, fields)
      if (due === undefined) continue
      expected.push(due)
      count++
    }
  }
  return count
}

function dueOf(asking: Asking, topic: Topic, change: Change, fields: readonly string[]): unknown {
  const { seen } = itemAt(asking, topic, change.id, fields)
  if (change.before === undefined) return topic.kind === change.kind ? seen : undefined
  const { seen: seenBefore } = itemAt({ ...asking, data: change.before }, topic, change.id, fields)
  if (topic.kind === 'updated') return isDeepStrictEqual(seen, seenBefore) ? undefined : seen
  return topic.kind === 'deleted' && seen === undefined && seenBefore !== undefined ? departure : undefined
}

export interface Overheard {
  readonly what: string
  readonly code: string
  text(): string
  close(): void
}

/** A subscription to one field that the credential may not have: everything that is said on it. */
export async function overhear(
  { url }: Place,
  by: Credential,
  topic: Topic,
  [field, code]: readonly [field: string, code: string],
): Promise<Overheard> {
  const stop = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { ...by.headers, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query: document(topic, [field]) }),
    signal: stop.signal,
  })
  let text = ''
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true })
  }
  // It ends when it is closed.
  read().catch(() => undefined)
  return {
    what: `${by.what}: ${document(topic, [field])}`,
    code,
    text: () => text,
    close: () => stop.abort(),
  }
}

/** The fields with a value of their own that the reference refuses this credential, each with the code. */
export function refusedFields(
  asking: Asking,
  topic: Topic,
): readonly (readonly [field: string, code: string])[] {
  const [row] = asking.data[topic.of.name] ?? []
  const leaves = fieldsOf(asking.schema, topic).filter(field => !field.includes('{'))
  return leaves.flatMap(field => {
    const code = itemAt(asking, topic, Number(row?.id ?? 0), [field]).codes.find(one => one !== 'NOT_FOUND')
    return code === undefined ? [] : [[field, code] as const]
  })
}
