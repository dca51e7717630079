/**
 * Who may read the mails of `portico dev`, whose links give access to accounts: browsers and programs on this machine, but no
 * web page of another origin.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

export interface LocalRequest {
  readonly headers: IncomingHttpHeaders
  /** The address of the connection's other end, regardless of headers. */
  readonly peer: string | undefined
  /** The address to which the peer connected. */
  readonly local: string | undefined
}

const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

function withoutPrefix(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:/i, '')
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

/** The host name in a `Host` header; undefined if the header is invalid. */
function hostnameOf(host: string | undefined): string | undefined {
  const url = `http://${host}`
  if (host === undefined || /[/?#@\\\s]/.test(host) || !URL.canParse(url)) return undefined
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Against DNS rebinding: a page of another site may make its own host name resolve to this machine. */
function isOwnHost(hostname: string, local: string, baseUrl: string | undefined): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  if (isLoopback(hostname) || hostname === local) return true
  return baseUrl !== undefined && new URL(baseUrl).hostname === hostname
}

/** Whether a page of another origin sends the request, other than by navigating to it (Fetch Metadata). */
function isForeign(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true
  const site = headers['sec-fetch-site'] ?? 'none'
  return site !== 'none' && site !== 'same-origin' && headers['sec-fetch-dest'] !== 'document'
}

/**
 * Whether error responses may explain, with values, which rule refused the request: only to programs on this machine, and to
 * pages that are served from it, on any port.
 */
export function isFromDeveloper(
  { headers, peer, local }: LocalRequest,
  baseUrl: string | undefined,
): boolean {
  const [from, to] = [withoutPrefix(peer), withoutPrefix(local)]
  if (from === '' || !(isLoopback(from) || from === to)) return false
  if (proxyHeaders.some(name => headers[name] !== undefined)) return false
  const hostname = hostnameOf(headers.host)
  if (hostname === undefined || !isOwnHost(hostname, to, baseUrl)) return false
  const { origin } = headers
  if (origin === undefined) return headers['sec-fetch-site'] !== 'cross-site'
  const [, host] = /^https?:\/\/(.+)$/.exec(origin) ?? []
  const page = hostnameOf(host)
  return page !== undefined && isOwnHost(page, to, baseUrl)
}

export interface MailReaders {
  readonly baseUrl: string | undefined
  /** Whether every machine that reaches the port may read them. */
  readonly isShared: boolean
}

/** Why the request is refused; undefined if it is allowed. */
export function refusalOf(
  { headers, peer, local }: LocalRequest,
  { baseUrl, isShared }: MailReaders,
): string | undefined {
  const [from, to] = [withoutPrefix(peer), withoutPrefix(local)]
  if (!isShared && (from === '' || !(isLoopback(from) || from === to)))
    return 'Mails are shown only on the machine on which `portico dev` runs. `--share-mails` shows them to other machines too.'
  if (!isShared && proxyHeaders.some(name => headers[name] !== undefined))
    return 'Mails are not shown through a proxy: open the address of this machine.'
  const hostname = hostnameOf(headers.host)
  const isOwn = hostname !== undefined && isOwnHost(hostname, to, baseUrl)
  // An IP address in the URL cannot be rebound.
  if (!isOwn && !(isShared && isIP(hostname ?? '') !== 0))
    return 'Mails are not shown at this host name: open them at localhost.'
  return isForeign(headers) ? 'Mails are not shown to pages of other origins.' : undefined
}
