/** The country of a client, as a proxy tells it by a header. Read only where that proxy is trusted. */
import type { IncomingMessage } from 'node:http'
import type { TrustProxy } from '../config/networks.ts'
import { proxyTrust } from './client-address.ts'

/** ISO 3166-1 alpha-2. Of its user-assigned codes only that of Kosovo is one; a proxy that knows none says `XX`. */
const countryCode = /^(?!AA|Q[M-Z]|X[A-JL-Z]|ZZ)[A-Z]{2}$/

interface CountrySettings {
  readonly trustProxy: TrustProxy
  /** The name of the header. */
  readonly countryHeader: string | undefined
}

/** Undefined for a request that no trusted proxy has passed on, and for what is no country. */
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
