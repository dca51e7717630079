/** Whether an answer is within its maximum size, or was refused since it would not be. */
import assert from 'node:assert/strict'
import type { Answer } from '../../server/serve/service.ts'

export function assertTooLarge({ status, code, text, json }: Answer, what: string): void {
  const [graphqlError] = (json.errors ?? []) as { extensions: { code: string } }[]
  const isGraphql = graphqlError !== undefined
  assert.equal(
    isGraphql ? graphqlError.extensions.code : code,
    'ANSWER_TOO_LARGE',
    `${what}: ${text.slice(0, 300)}`,
  )
  if (!isGraphql) assert.equal(status, 400, what)
  assert.ok(text.length < 2000, what)
}

export function assertFits({ status, text, json }: Answer, maxBytes: number, what: string): void {
  assert.ok(status < 300 && json.errors === undefined, `${what}: ${status} ${text.slice(0, 300)}`)
  // The envelope of a response, such as the links of a list, does not count.
  assert.ok(Buffer.byteLength(text) <= maxBytes + 1000, what)
}
