/** Requests of the matrices, which send tens of thousands: `fetch` would take a quarter of their CPU time. */
import { Agent, type IncomingHttpHeaders, request as open } from 'node:http'

const agent = new Agent({ keepAlive: true })

export interface PlainAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends JSON, accepts no compressed answer, and follows no redirect. */
export function request(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<PlainAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = open(url, {
      agent,
      method,
      headers: {
        Accept: '*/*',
        ...headers,
        ...(text !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(text),
        }),
      },
    })
    sent.on('error', reject).on('response', answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk)).on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    sent.end(text)
  })
}
