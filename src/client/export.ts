/** Reads exports: all items of a list in one response, as CSV or NDJSON. */
import { unreachable } from './answer.ts'
import type { Connection } from './connection.ts'
import type { CallOptions } from './types/options.ts'

const mediaTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

export interface AnyExport extends CallOptions {
  readonly format: keyof typeof mediaTypes
}

/** Yields pieces of the text for CSV, items for NDJSON. `path`: of a list. A response that breaks off throws a NETWORK_ERROR. */
export async function* exported(
  connection: Connection,
  path: string,
  options: AnyExport,
): AsyncGenerator<unknown, undefined, undefined> {
  const { format, signal } = options
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  try {
    const limited = { ...options, signal: controller.signal }
    const open = () => connection.openWithin(path, mediaTypes[format], limited)
    const texts = textsOf(await connection.retried(options, open))
    yield* format === 'csv' ? texts : itemsOf(texts)
  } catch (error) {
    throw signal?.aborted ? signal.reason : error
  } finally {
    signal?.removeEventListener('abort', abort)
    controller.abort()
  }
}

async function* textsOf(response: Response): AsyncGenerator<string, undefined, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { value, done } = await reader.read().catch(error => {
      throw unreachable('The export', error)
    })
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}

async function* itemsOf(texts: AsyncIterable<string>): AsyncGenerator<unknown, undefined, undefined> {
  let rest = ''
  for await (const text of texts) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line)
  }
  if (rest !== '') throw unreachable('The export', new Error('it ended within an item.'))
}
