/** Networks of trusted proxies. */
import { BlockList, isIP } from 'node:net'

/** Throws a `RangeError` for an entry that is neither an address nor a network in CIDR notation. */
export function trustedNetworks(list: readonly string[]): BlockList {
  const networks = new BlockList()
  for (const entry of list) {
    const [address = '', prefix, ...others] = entry.split('/')
    const version = isIP(address)
    const bits = prefix === undefined ? (version === 6 ? 128 : 32) : Number(prefix)
    const isPrefixLength =
      prefix === undefined || (/^\d+$/.test(prefix) && bits <= (version === 6 ? 128 : 32))
    if (version === 0 || !isPrefixLength || others.length > 0) {
      throw new RangeError(`\`${entry}\` is neither an address nor a network such as 10.0.0.0/8`)
    }
    networks.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4')
  }
  return networks
}
