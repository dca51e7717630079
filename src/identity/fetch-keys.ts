/** Fetches the published keys of trusted issuers (RFC 7517, 5). */
import { Outgoing } from '../delivery/outgoing/outgoing.ts'

const maxBodyBytes = 262_144
const timeoutMs = 5000

/**
 * Returns a function that fetches the JSON document at an https URL with a public address. The function rejects unless a
 * complete JSON document with status 200 arrives in time.
 */
export function keyFetcher(
  outgoing = new Outgoing({ allowPrivate: false }),
): (url: string) => Promise<unknown> {
  return async url => {
    if (URL.parse(url)?.protocol !== 'https:') throw new Error('Keys are fetched by https only.')
    const headers = { Accept: 'application/json' }
    const { status, body } = await outgoing.request({ url, headers, timeoutMs, maxBodyBytes })
    if (status !== 200) throw new Error(`The keys came with status ${status}.`)
    return JSON.parse(body.toString())
  }
}
