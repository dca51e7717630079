/** The client's address. Only the part of `X-Forwarded-For` that trusted proxies wrote counts: clients can forge the rest. */
import { type BlockList, isIP } from 'node:net'
import type { TrustProxy } from '../config/kinds.ts'
import { trustedNetworks } from '../config/networks.ts'

/** `::ffff:192.0.2.1` is `192.0.2.1` (RFC 4291, 2.5.5.2). */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

function isTrusted(networks: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && networks.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** RFC 7239, 6: some proxies add the port, and then put IPv6 addresses in brackets. */
const withPort = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/

function listedAddress(part: string): string {
  const text = part.trim()
  const [, inBrackets, beforePort] = withPort.exec(text) ?? []
  return plainAddress(inBrackets ?? beforePort ?? text)
}

/** The addresses from the nearest hop to the farthest: the socket's, then `X-Forwarded-For` from its end. */
function hops(socket: string, forwarded: string): string[] {
  const addresses = forwarded.split(',').map(listedAddress)
  return [socket, ...addresses.reverse()]
}

/** Whether the hop at this address is a trusted proxy. `index`: how many hops are nearer. */
export function proxyTrust(
  trustProxy: Exclude<TrustProxy, false>,
): (address: string, index: number) => boolean {
  if (typeof trustProxy === 'number') return (_address, index) => index < trustProxy
  const networks = trustedNetworks(trustProxy)
  return address => isTrusted(networks, plainAddress(address))
}

type ReadAddress = (socketAddress: string | undefined, forwardedFor: string | undefined) => string

/** Returns a function that finds the client's address by the socket's and the `X-Forwarded-For` header. */
export function addressReader(trustProxy: TrustProxy): ReadAddress {
  if (trustProxy === false) return socket => plainAddress(socket ?? 'unknown')
  const isProxy = proxyTrust(trustProxy)
  return (socket, forwarded) => {
    const nearest = plainAddress(socket ?? 'unknown')
    if (forwarded === undefined || forwarded.length > 2000) return nearest
    const path = hops(nearest, forwarded)
    let index = 0
    while (index < path.length - 1) {
      if (!isProxy(path[index] ?? '', index) || isIP(path[index + 1] ?? '') === 0) break
      index++
    }
    return path[index] ?? nearest
  }
}
