/** `fetch` for the client library: every request goes through `Outgoing`, within its limits. */
import { OutgoingError } from '../../../delivery/outgoing/errors.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../../delivery/outgoing/outgoing.ts'

/** Sends one request: see `Outgoing`. */
export type SendRequest = (request: OutgoingRequest) => Promise<OutgoingResponse>

export const requestTimeoutMs = 8000
export const maxResponseBytes = 262_144

interface FetchOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const methods = ['GET', 'POST'] as const

function bodyOf(body: unknown): string | undefined {
  return typeof body === 'string' || body instanceof URLSearchParams ? String(body) : undefined
}

/** The statuses of responses without a body (Fetch, 2.2.3). */
const nullBodyStatuses = [101, 204, 205, 304]

/** Redirects are not followed: the library gets them as responses, and refuses them. */
export function providerFetch(send: SendRequest) {
  return async (url: string, { method, headers, body }: FetchOptions): Promise<Response> => {
    const supported = methods.find(name => name === method)
    if (supported === undefined)
      throw new OutgoingError('url_refused', `The method ${method} is not supported.`)
    const text = bodyOf(body)
    const response = await send({
      url,
      method: supported,
      headers,
      ...(text !== undefined && { body: text }),
      timeoutMs: requestTimeoutMs,
      maxBodyBytes: maxResponseBytes,
    })
    const type = response.headers['content-type']
    return new Response(nullBodyStatuses.includes(response.status) ? null : new Uint8Array(response.body), {
      status: response.status,
      headers: type === undefined ? {} : { 'Content-Type': type },
    })
  }
}
