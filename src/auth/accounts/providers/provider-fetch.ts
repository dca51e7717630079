/** `fetch` for the client library: every request goes through `Outgoing`, within its limits. */
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

/** Statuses of responses without a body (Fetch, 2.2.3). */
const bodiless = [101, 204, 205, 304]

/** Redirects are not followed: the library gets them as responses, and refuses them. */
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
