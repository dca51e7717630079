/** Where a request comes from, according to the browser. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a request comes from a page of `origin`; `'unknown'`: no header says so. Browsers send `Sec-Fetch-Site` to
 * `https:` and `localhost` (Fetch Metadata, 2.1), elsewhere at most `Origin` or `Referer`. No page can set these headers.
 */
export function cameFrom(
  headers: IncomingHttpHeaders,
  origin: string,
): 'same-origin' | 'elsewhere' | 'unknown' {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' ? 'same-origin' : 'elsewhere'
  const from = headers.origin ?? originOf(headers.referer)
  if (from === undefined) return 'unknown'
  return from === origin ? 'same-origin' : 'elsewhere'
}

function originOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  return URL.canParse(address) ? new URL(address).origin : 'null'
}
