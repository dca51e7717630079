/** A subscription served by a particular worker. */
import assert from 'node:assert/strict'
import type { RunningWorkers, WorkerConnection } from './service.ts'

/** Subscribes to posts at the worker of a connection; `titles` are in the order of arrival. */
export async function subscription(
  { url, key }: RunningWorkers,
  connection: WorkerConnection,
): Promise<{ titles: string[]; close(): void }> {
  const stop = new AbortController()
  for (;;) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: 'subscription { newPost { title } }' }),
      signal: stop.signal,
    })
    assert.equal(response.status, 200)
    const titles: string[] = []
    if (response.headers.get('x-request-id')?.split('.')[0] !== connection.worker) {
      await response.body?.cancel()
      continue
    }
    const read = async () => {
      for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
        titles.push(...[...String(chunk).matchAll(/"title":"([^"]*)"/g)].map(([, title = '']) => title))
      }
    }
    read().catch(() => {})
    return { titles, close: () => stop.abort() }
  }
}
