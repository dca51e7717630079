/** A JSON document from elsewhere, asked for with care: https only, no private address, no redirect, bounded. */
import { lookup } from 'node:dns'
import { request } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const MAX_BYTES = 262_144
const MAX_TIME = 5_000

/** RFC 6890 and what maps onto it: nothing that only this machine or its network can reach. */
const inner = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  inner.ipv4.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  inner.ipv6.addSubnet(network, prefix, 'ipv6')
}

/** Whether an address is one that anybody can reach. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 0) return false
  // Apart, since a list takes an IPv4 address for the IPv6 one that it maps onto.
  return version === 4 ? !inner.ipv4.check(address, 'ipv4') : !inner.ipv6.check(address, 'ipv6')
}

/** The address that is checked is the one that is connected to: the name is resolved once. */
const publicOnly: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return done(error, '', 4)
    const [first] = addresses
    if (!first || !addresses.every(({ address }) => isPublicAddress(address))) {
      return done(new Error(`${hostname} is not at a public address`), '', 4)
    }
    if (options.all) return done(null, addresses)
    done(null, first.address, first.family)
  })
}

/** Rejects for whatever is not a JSON document that comes whole and in time. */
export function fetchKeys(address: string): Promise<unknown> {
  const url = new URL(address)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol !== 'https:') return Promise.reject(new Error('Keys are fetched by https only.'))
  if (isIP(host) !== 0 && !isPublicAddress(host)) return Promise.reject(new Error(`${host} is not public`))
  return new Promise((resolve, reject) => {
    const headers = { Accept: 'application/json' }
    const sent = request(
      url,
      { lookup: publicOnly, headers, signal: AbortSignal.timeout(MAX_TIME) },
      answer => {
        if (answer.statusCode !== 200)
          return sent.destroy(new Error(`The keys came with ${answer.statusCode}.`))
        const chunks: Buffer[] = []
        let length = 0
        answer.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length > MAX_BYTES) sent.destroy(new Error('The keys are too large.'))
          else chunks.push(chunk)
        })
        answer.on('error', reject).on('end', () => {
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString()))
          } catch (error) {
            reject(error)
          }
        })
      },
    )
    sent.on('error', reject).end()
  })
}
