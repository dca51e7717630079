/** The addresses that requests to external URLs may reach, in every spelling of URLs and name servers. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { test } from 'node:test'
import { isPublicAddress } from '../../../src/delivery/outgoing/addresses.ts'
import { OutgoingError } from '../../../src/delivery/outgoing/errors.ts'
import { Outgoing } from '../../../src/delivery/outgoing/outgoing.ts'

const inside = [
  // Loopback, in the forms in which the URL Standard accepts IPv4 addresses
  // (https://url.spec.whatwg.org/#concept-ipv4-parser).
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.0.0.1./',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://0177.0.0.01/',
  'http://017700000001/',
  'http://0x7F.0x00.0x00.0x01/',
  'http://127.0.0.0x1/',
  'http://①②⑦.⓪.⓪.①/',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  'http://1２7.0.0.1/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[0000:0000:0000:0000:0000:0000:0000:0001]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[::7f00:1]/',
  // This host, and unspecified addresses.
  'http://0/',
  'http://0.0.0.0/',
  'http://0x0/',
  'http://00.00.00.00/',
  'http://0.1.2.3/',
  'http://[::]/',
  'http://[::ffff:0.0.0.0]/',
  // Private networks (RFC 1918, RFC 6598, RFC 4193).
  'http://10.0.0.1/',
  'http://10.1/',
  'http://012.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://2886729729/',
  'http://192.168.0.1/',
  'http://192.168.257/',
  'http://0xc0a80001/',
  'http://100.64.0.1/',
  'http://100.127.255.254/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[::ffff:c0a8:1]/',
  // Link-local addresses (RFC 3927, RFC 4291), where cloud metadata services provide secrets.
  'http://169.254.169.254/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://2852039166/',
  'http://0251.0376.0251.0376/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[fe80::1]/',
  'http://[febf::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fec0::1]/',
  // Gateways to IPv4: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380).
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::1]/',
  'http://[2002:7f00:1::1]/',
  'http://[2002:a9fe:a9fe::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[2001::1]/',
  // Reserved, documentation and multicast addresses (RFC 6890, RFC 5737, RFC 3849, RFC 9637).
  'http://192.0.0.1/',
  'http://192.0.2.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://239.255.255.255/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://192.88.99.1/',
  'http://[100::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://[4000::1]/',
  'http://[ff02::1]/',
  // Names that resolve to internal addresses.
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://ｌｏｃａｌｈｏｓｔ/',
]

/** Resolves every known name to the same addresses. */
function lookupOf(...addresses: readonly string[]): never {
  const lookup: LookupFunction = (_name, _options, callback) => {
    const results = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    callback(null, results)
  }
  return lookup as never
}

async function withServer(use: (port: number, requests: () => number) => Promise<void>): Promise<void> {
  let count = 0
  const server: Server = createServer((_request, response) => {
    count++
    response.end('inside')
  })
  await new Promise<void>(resolve => server.listen(0, resolve))
  try {
    await use((server.address() as AddressInfo).port, () => count)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const bounds = { timeoutMs: 5000, maxBodyBytes: 1000 }

test(`${inside.length} spellings of addresses that are not public are refused before anything is sent`, async () => {
  await withServer(async (port, requests) => {
    const outgoing = new Outgoing({ allowPrivate: false })
    try {
      for (const text of inside) {
        const url = new URL(text)
        url.port = String(port)
        await assert.rejects(
          outgoing.request({ url: url.href, ...bounds }),
          (error: unknown) =>
            error instanceof OutgoingError &&
            // Some resolvers do not know a name with a trailing dot.
            (error.failure === 'address_refused' ||
              (url.hostname === 'localhost.' && error.failure === 'name_not_found')),
          text,
        )
      }
    } finally {
      await outgoing.close()
    }
    assert.equal(requests(), 0)
  })
})

test('a name with a private address is refused, and of several addresses only public ones are tried', async () => {
  await withServer(async (port, requests) => {
    for (const addresses of [['127.0.0.1'], ['::1'], ['10.0.0.1', '127.0.0.1'], ['::ffff:127.0.0.1'], []]) {
      const outgoing = new Outgoing({ allowPrivate: false, lookup: lookupOf(...addresses) })
      await assert.rejects(outgoing.request({ url: `http://name.test:${port}/`, ...bounds }), {
        failure: 'address_refused',
      })
      await outgoing.close()
    }
    assert.equal(requests(), 0)
  })
})

test('a name whose address changes with each lookup never leads to a private address', async () => {
  await withServer(async (port, requests) => {
    let lookups = 0
    const changing = (
      _name: string,
      _options: object,
      callback: (error: null, results: object[]) => void,
    ) => {
      // A public address that refuses connections: nothing is sent anywhere, whichever address is looked up first.
      const address = lookups++ % 2 === 0 ? '192.0.2.1' : '127.0.0.1'
      callback(null, [{ address, family: 4 }])
    }
    const outgoing = new Outgoing({ allowPrivate: false, lookup: changing as never })
    for (let round = 0; round < 20; round++) {
      await assert.rejects(outgoing.request({ url: `http://name.test:${port}/`, ...bounds }), OutgoingError)
    }
    await outgoing.close()
    assert.equal(requests(), 0)
    assert.equal(lookups, 20, 'each connection looks the name up once, and uses the address that was checked')
  })
})

test('public addresses are recognised, and texts that are not addresses are not', () => {
  for (const address of ['93.184.216.34', '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4001:82f::200e']) {
    assert.ok(isPublicAddress(address), address)
  }
  for (const address of ['', 'localhost', '1.1.1', '1.1.1.1:80', '2606:4700::1%eth0', '[2606:4700::1]']) {
    assert.ok(!isPublicAddress(address), address)
  }
})
