/** URLs that no webhook may have, with private addresses in at least 60 spellings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { urlFault } from '../../../src/identity/webhooks/url-faults.ts'
import { isUrl } from '../../../src/model/fields/url.ts'

/** Whether the field or its rule refuses the URL. */
function isRefused(url: string, allowPrivate = false): boolean {
  return !isUrl(url) || urlFault(url, allowPrivate) !== undefined
}

const privateHosts = [
  ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001'],
  ...['0.0.0.0', '0', '00', '127.0.0.1.', '127.255.255.254', '127.0.0.1%2e', '%31%32%37.0.0.1'],
  ...[
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.1.1',
    '0xc0a80001',
  ],
  ...['169.254.0.1', '169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '100.64.0.1'],
  ...['192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
  ...[
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[fe80::1]',
  ],
  ...[
    '[fe80::1%25eth0]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[100::1]',
  ],
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'printer.local',
    'api.internal',
    'nas.home.arpa',
  ],
  ...[
    'metadata.google.internal',
    '１２７.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
    'ｌocalhost',
    '[::ffff:a00:1]',
  ],
]

test('private addresses are refused in every spelling', () => {
  assert.ok(privateHosts.length >= 60, `${privateHosts.length} spellings`)
  for (const host of privateHosts) {
    for (const url of [`https://${host}/hook`, `https://${host}:8443/hook`, `https://${host}`]) {
      assert.ok(isRefused(url), url)
    }
  }
})

test('a URL is refused unless it is https with a plain host', () => {
  for (const url of [
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user@example.com/',
    'https://user:word@example.com/',
    'https://:word@example.com/',
    'https://example.com@127.0.0.1/',
    'https://exa mple.com/',
    'https:///hook',
    'https://',
    '//example.com',
    'example.com',
    'https://example.com\n.evil/',
    'https://example.com:99999/',
    '',
  ]) {
    assert.ok(isRefused(url), JSON.stringify(url))
  }
})

test('public addresses and names are accepted', () => {
  for (const url of [
    'https://example.com/hook?x=1#y',
    'https://example.com:8443/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://localhost.example.com/',
    'https://internal.example.com/',
    'https://mylocal/',
    'https://Example.com/',
  ]) {
    assert.ok(!isRefused(url), url)
  }
})

test('with allowPrivate set, http and private addresses are accepted, but no user name', () => {
  for (const url of ['http://127.0.0.1:3000/', 'https://localhost/', 'http://[::1]/']) {
    assert.ok(!isRefused(url, true), url)
  }
  assert.ok(isRefused('http://user@localhost/', true))
})
