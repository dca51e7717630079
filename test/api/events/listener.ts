/** Clients of `GET /api/v1/events`, written without a library. */
import assert from 'node:assert/strict'
import { type Answer, call } from '../../server/serve/service.ts'

export interface Event {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly collection: string
  readonly item_id: number
  readonly actor?: { readonly user_id: number; readonly app_id: number | null }
  readonly changed?: readonly string[]
  readonly data: Readonly<Record<string, unknown>> | null
}

export interface Page {
  readonly data: readonly Event[]
  readonly meta: { readonly next_after: string; readonly has_more: boolean }
}

/** `query` has no leading `?`. */
export async function fetchPage(url: string, query: string, key?: string): Promise<Page> {
  const answer = await requestPage(url, query, key)
  assert.equal(answer.status, 200, answer.text)
  return answer.json as unknown as Page
}

export function requestPage(url: string, query: string, key?: string): Promise<Answer> {
  return call(`${url}/api/v1/events?${query}`, key === undefined ? {} : { key })
}

/** All events after `after`, page by page. */
export async function fetchEvents(
  url: string,
  query: string,
  key?: string,
  after = '0',
): Promise<readonly Event[]> {
  const { data, meta } = await fetchPage(url, `after=${after}${query === '' ? '' : `&${query}`}`, key)
  return meta.has_more ? [...data, ...(await fetchEvents(url, query, key, meta.next_after))] : data
}

export interface Block {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string | undefined
}

export interface Stream {
  readonly status: number
  readonly headers: Headers
  /** All blocks so far, including comments and blocks without data. */
  readonly blocks: Block[]
  events(): readonly Event[]
  /** Resolves when the service has ended the stream. */
  readonly end: Promise<void>
  close(): void
}

interface StreamOptions {
  readonly key?: string | undefined
  readonly lastEventId?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Opens a stream of server-sent events. */
export async function stream(
  url: string,
  query = '',
  { key, lastEventId, headers }: StreamOptions = {},
): Promise<Stream> {
  const controller = new AbortController()
  const response = await fetch(`${url}/api/v1/events?${query}`, {
    headers: {
      Accept: 'text/event-stream',
      ...headers,
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    },
    signal: controller.signal,
  })
  const blocks: Block[] = []
  const end = collect(response, blocks).catch(error => {
    if (!controller.signal.aborted) throw error
  })
  return {
    status: response.status,
    headers: response.headers,
    blocks,
    events: () => blocks.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data)])),
    end,
    close: () => controller.abort(),
  }
}

async function collect(response: Response, blocks: Block[]): Promise<void> {
  let rest = ''
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    const texts = (rest + Buffer.from(part).toString()).split('\n\n')
    rest = texts.pop() ?? ''
    for (const text of texts) if (text.trim() !== '') blocks.push(blockOf(text))
  }
}

function blockOf(text: string): Block {
  const lines = text.split('\n')
  const field = (name: string) => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
  return { id: field('id'), event: field('event'), data: field('data') }
}
