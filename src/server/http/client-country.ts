/** The country of a client, from a header that a proxy sets. Read only from trusted proxies. */
import type { IncomingMessage } from 'node:http'
import type { TrustProxy } from '../config/kinds.ts'
import { proxyTrust } from './client-address.ts'

/** ISO 3166-1 alpha-2. `XK`, Kosovo, is the only user-assigned code that names a country; `XX` means unknown. */
const countryCode = /^(?!AA|Q[M-Z]|X[A-JL-Z]|ZZ)[A-Z]{2}$/

interface CountrySettings {
  readonly trustProxy: TrustProxy
  /** The name of the header. */
  readonly countryHeader: string | undefined
}

/** Undefined if no trusted proxy forwarded the request, or the header names no country. */
export function countryReader({ trustProxy, countryHeader }: CountrySettings) {
  if (countryHeader === undefined || trustProxy === false) return () => undefined
  const isTrusted = proxyTrust(trustProxy)
  const name = countryHeader.toLowerCase()
  return ({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string | undefined => {
    const value = headers[name]
    if (typeof value !== 'string' || !isTrusted(socket.remoteAddress ?? '', 0)) return undefined
    const code = value.trim().toUpperCase()
    return countryCode.test(code) ? code : undefined
  }
}
