import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trustedNetworks } from '../../../src/server/config/networks.ts'
import { addressReader } from '../../../src/server/http/client-address.ts'
import { countryReader } from '../../../src/server/http/client-country.ts'

const socket = '10.0.0.1'

// trustProxy, socket, X-Forwarded-For, the client's address
const rows: readonly [false | number | string[], string, string | undefined, string][] = [
  [false, socket, undefined, socket],
  [false, socket, '1.2.3.4', socket],
  [false, '::ffff:10.0.0.1', undefined, socket],
  [false, '2001:db8::1', '1.2.3.4', '2001:db8::1'],
  [1, socket, undefined, socket],
  [1, socket, '1.2.3.4', '1.2.3.4'],
  [1, socket, '6.6.6.6, 1.2.3.4', '1.2.3.4'],
  [2, socket, '6.6.6.6, 5.5.5.5, 1.2.3.4', '5.5.5.5'],
  [9, socket, '6.6.6.6, 1.2.3.4', '6.6.6.6'],
  [1, socket, 'nonsense', socket],
  [2, socket, 'nonsense, 1.2.3.4', '1.2.3.4'],
  [1, socket, '', socket],
  [1, socket, '::ffff:1.2.3.4', '1.2.3.4'],
  [1, socket, '1.2.3.4:5678', '1.2.3.4'],
  [1, socket, '[2001:db9::7]:5678', '2001:db9::7'],
  [1, socket, '[2001:db9::7]', '2001:db9::7'],
  [1, socket, '2001:db9::7:5678', '2001:db9::7:5678'],
  [1, socket, '[nonsense]:1', socket],
  [1, socket, '1.2.3.4:nonsense', socket],
  [['10.0.0.0/8'], socket, '6.6.6.6:1, 1.2.3.4:2, 10.9.9.9:3', '1.2.3.4'],
  [1, socket, `${'1.1.1.1, '.repeat(1000)}2.2.2.2`, socket],
  [['10.0.0.0/8'], socket, '6.6.6.6, 1.2.3.4', '1.2.3.4'],
  [['10.0.0.0/8'], socket, '6.6.6.6, 1.2.3.4, 10.9.9.9', '1.2.3.4'],
  [['10.0.0.0/8', '1.2.3.4'], socket, '6.6.6.6, 1.2.3.4', '6.6.6.6'],
  [['10.0.0.0/8'], '192.0.2.1', '6.6.6.6', '192.0.2.1'],
  [['2001:db8::/32'], '2001:db8::1', '2001:db9::7', '2001:db9::7'],
  [['10.0.0.0/8'], socket, '10.1.1.1', '10.1.1.1'],
]

for (const [trustProxy, from, forwarded, expected] of rows) {
  test(`the client address is ${expected} with trustProxy ${trustProxy}, socket ${from} and X-Forwarded-For ${forwarded?.slice(0, 40)}`, () => {
    assert.equal(addressReader(trustProxy)(from, forwarded), expected)
  })
}

// trustProxy, socket, the header, the country
const countries: readonly [false | number | string[], string, string | undefined, string | undefined][] = [
  [1, socket, 'de', 'DE'],
  [['10.0.0.0/8'], '::ffff:10.0.0.1', 'XK', 'XK'],
  [['10.0.0.0/8'], '192.0.2.1', 'DE', undefined],
  [false, socket, 'DE', undefined],
  [1, socket, undefined, undefined],
  [1, socket, 'XX', undefined],
  [1, socket, 'T1', undefined],
  [1, socket, 'DE, FR', undefined],
  [1, socket, '<b>', undefined],
]

test('the country header is read from a trusted proxy only', () => {
  for (const [trustProxy, remoteAddress, value, expected] of countries) {
    const countryOf = countryReader({ trustProxy, countryHeader: 'CF-IPCountry' })
    const req = { socket: { remoteAddress }, headers: { 'cf-ipcountry': value } }
    assert.equal(countryOf(req as never), expected, `${trustProxy} ${remoteAddress} ${value}`)
  }
  const without = countryReader({ trustProxy: 1, countryHeader: undefined })
  assert.equal(without({ socket: {}, headers: { 'cf-ipcountry': 'DE' } } as never), undefined)
})

test('a socket without an address has a placeholder address', () => {
  assert.equal(addressReader(false)(undefined, undefined), 'unknown')
})

for (const wrong of [
  '10.0.0.0/33',
  '10.0.0/8',
  'proxy.example',
  '::1/129',
  '10.0.0.0/',
  '10.0.0.0/-1',
  '10.0.0.0/8/24',
  '',
]) {
  test(`the invalid network ${JSON.stringify(wrong)} is named in the error`, () => {
    assert.throws(
      () => trustedNetworks([wrong]),
      (error: Error) => error instanceof RangeError && error.message.includes(wrong),
    )
  })
}
