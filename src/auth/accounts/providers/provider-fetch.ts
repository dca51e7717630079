/** `fetch` for the library that speaks to providers: every request goes the one way out, within its bounds. */
import { OutgoingError } from '../../../outgoing/errors.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../../outgoing/outgoing.ts'

/** Sends one request: see `Outgoing`. */
export type SendRequest = (request: OutgoingRequest) => Promise<OutgoingResponse>

export const requestTimeoutMs = 8000
export const maxAnswerBytes = 262_144

interface FetchOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const methods = ['GET', 'POST'] as const

function bodyOf(body: unknown): string | undefined {
  return typeof body === 'string' || body instanceof URLSearchParams ? String(body) : undefined
}

/** Statuses whose answers have no body (Fetch, 2.2.3). */
const bodiless = [101, 204, 205, 304]

/** Redirects are answers like others, which the library refuses. */
export function providerFetch(send: SendRequest) {
  return async (url: string, { method, headers, body }: FetchOptions): Promise<Response> => {
    const known = methods.find(one => one === method)
    if (known === undefined) throw new OutgoingError('url_refused', `The method ${method} is not used.`)
    const sent = bodyOf(body)
    const answer = await send({
      url,
      method: known,
      headers,
      ...(sent !== undefined && { body: sent }),
      timeoutMs: requestTimeoutMs,
      maxBodyBytes: maxAnswerBytes,
    })
    const type = answer.headers['content-type']
    return new Response(bodiless.includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'Content-Type': type },
    })
  }
}
