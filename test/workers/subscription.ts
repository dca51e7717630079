/** A subscription that one worker serves. */
import assert from 'node:assert/strict'
import type { Lane, RunningWorkers } from './service.ts'

/** The titles that a subscription at a worker gets, in the order in which they come. */
export async function subscription(
  { url, key }: RunningWorkers,
  lane: Lane,
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
    if (response.headers.get('x-request-id')?.split('.')[0] !== lane.worker) {
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
