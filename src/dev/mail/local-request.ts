/**
 * Who may read the mails of `portico dev`, which have links that take over accounts: browsers and programs on this machine,
 * and no web page of another origin in them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

export interface LocalRequest {
  readonly headers: IncomingHttpHeaders
  /** Of the connection, whatever a header says. */
  readonly peer: string | undefined
  /** The address that the peer has connected to. */
  readonly local: string | undefined
}

const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

function withoutPrefix(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:/i, '')
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

/** The host that the URL names, without its port; undefined where it is none. */
function hostnameOf(host: string | undefined): string | undefined {
  const url = `http://${host}`
  if (host === undefined || /[/?#@\\\s]/.test(host) || !URL.canParse(url)) return undefined
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
}

/** DNS rebinding: a page of another site may have made its own name lead here. */
function isOwnHost(hostname: string, local: string, baseUrl: string | undefined): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  if (isLoopback(hostname) || hostname === local) return true
  return baseUrl !== undefined && new URL(baseUrl).hostname === hostname
}

/** Fetch metadata: whether a page of another origin asks for more than to be left for this one. */
function isForeign(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true
  const site = headers['sec-fetch-site'] ?? 'none'
  return site !== 'none' && site !== 'same-origin' && headers['sec-fetch-dest'] !== 'document'
}

/**
 * Whether error answers may say which rule refused, with values: to programs of this machine, and to pages that stand on
 * it, whatever their port.
 */
export function isOfDeveloper({ headers, peer, local }: LocalRequest, baseUrl: string | undefined): boolean {
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
  /** Every machine that reaches the port. */
  readonly isShared: boolean
}

/** Why the request is refused; undefined: it is not. */
export function refusalOf(
  { headers, peer, local }: LocalRequest,
  { baseUrl, isShared }: MailReaders,
): string | undefined {
  const [from, to] = [withoutPrefix(peer), withoutPrefix(local)]
  if (!isShared && (from === '' || !(isLoopback(from) || from === to)))
    return 'Mails are shown on the machine on which `portico dev` runs, and nowhere else. `--share-mails` shows them to others too.'
  if (!isShared && proxyHeaders.some(name => headers[name] !== undefined))
    return 'Mails are not shown through a proxy: open the address of this machine.'
  const hostname = hostnameOf(headers.host)
  const isOwn = hostname !== undefined && isOwnHost(hostname, to, baseUrl)
  // No name leads to an address that stands there itself.
  if (!isOwn && !(isShared && isIP(hostname ?? '') !== 0))
    return 'Mails are not shown under this host name: open them at localhost.'
  return isForeign(headers) ? 'Mails are not shown to pages of other origins.' : undefined
}
