/** The addresses that requests to URLs of untrusted users may reach. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Whether an IP address is globally reachable: not private, loopback, link-local, shared, multicast or reserved (the
 * special-purpose registries of RFC 6890), nor an IPv6 address that leads to an IPv4 address through a gateway
 * (RFC 6052, RFC 3056, RFC 4380, RFC 4291, 2.5.5). `address`: as a socket reports it; any other text is not public.
 */
export function isPublicAddress(address: string): boolean {
  // A zone (`fe80::1%eth0`) names an interface of this machine.
  if (isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || isGlobalUnicast(parsed as ipaddr.IPv6)
}

/**
 * Global IPv6 addresses are allocated only from 2000::/3 (RFC 4291, 2.4; IANA's registry): another address that the
 * library calls "unicast" may be site-local. The documentation prefixes (RFC 3849, RFC 9637) are not allocated.
 */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return (
    address.match(ipaddr.IPv6.parse('2000::'), 3) &&
    !address.match(ipaddr.IPv6.parse('2001:db8::'), 32) &&
    !address.match(ipaddr.IPv6.parse('3fff::'), 20)
  )
}
