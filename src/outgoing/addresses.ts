/** Which addresses requests to strangers' URLs may reach. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Whether an IP address is reachable from everywhere: neither private, loopback, link-local, shared, multicast nor
 * reserved (the special-purpose registries of RFC 6890), nor an IPv6 address that leads to an IPv4 one by a gateway
 * (RFC 6052, RFC 3056, RFC 4380, RFC 4291, 2.5.5).
 * @param address as a socket reports it; anything that is no IP address is not public.
 */
export function isPublicAddress(address: string): boolean {
  // A zone (`fe80::1%eth0`) names an interface of this machine.
  if (isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || isGlobalUnicast(parsed as ipaddr.IPv6)
}

/**
 * IPv6 hands out global addresses from 2000::/3 alone (RFC 4291, 2.4; IANA's registry): what else is "unicast" to a
 * library may be a site's own. The documentation prefixes (RFC 3849, RFC 9637) are nobody's.
 */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return (
    address.match(ipaddr.IPv6.parse('2000::'), 3) &&
    !address.match(ipaddr.IPv6.parse('2001:db8::'), 32) &&
    !address.match(ipaddr.IPv6.parse('3fff::'), 20)
  )
}
