/** Access to the mails of `portico dev`, and the number that is kept. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LocalRequest, refusalOf } from '../../../src/tools/dev/mail/local-request.ts'
import { Mailbox, type NewMail } from '../../../src/tools/dev/mail/mailbox.ts'
import { withService } from '../../server/serve/service.ts'

const alone = { baseUrl: 'http://product.test:3000', isShared: false }
const shared = { ...alone, isShared: true }

type Headers = LocalRequest['headers']

const host = 'localhost:3000'
const allowed: readonly (readonly [name: string, headers: Headers, peer?: string, local?: string])[] = [
  ['a program', { host }],
  ['IPv6', { host: '[::1]:3000' }, '::1', '::1'],
  ['mapped IPv4', { host: '127.0.0.1:3000' }, '::ffff:127.0.0.1', '::ffff:127.0.0.1'],
  ['a name below localhost', { host: 'app.localhost' }],
  ['the host of the base URL', { host: 'product.test:3000' }],
  [
    'an address of this machine, from this machine',
    { host: '192.168.1.5:3000' },
    '192.168.1.5',
    '192.168.1.5',
  ],
  ['an address typed by the user', { host, 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' }],
  ['a frame of the same origin', { host, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' }],
  ['a link elsewhere', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }],
  ['its own origin', { host, origin: 'http://localhost:3000' }],
]
const refused: typeof allowed = [
  ['another machine', { host: '192.168.1.5:3000' }, '192.168.1.9', '192.168.1.5'],
  ['another machine that sends localhost', { host }, '192.168.1.9', '192.168.1.5'],
  ['a closed connection', { host }, '', ''],
  ['another machine through a proxy', { host, 'x-forwarded-for': '192.168.1.9' }],
  ['a tunnel', { host, 'x-forwarded-host': 'abc.tunnel.example' }],
  ['a rebound DNS name', { host: 'evil.example:3000' }],
  ['a name that begins like ours', { host: 'localhost.evil.example' }],
  ['a name that ends like ours', { host: 'evillocalhost' }],
  ['an address that begins like ours', { host: '127.0.0.1.evil.example' }],
  ['another address of the machine', { host: '10.0.0.1' }],
  ['no host', {}],
  ['a host with a user', { host: 'localhost@evil.example' }],
  ['a host with a path', { host: 'localhost/evil' }],
  ['a script on another port', { host, origin: 'http://localhost:5173' }],
  ['a sandboxed script', { host, origin: 'null' }],
  ['a script without Origin', { host, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'script' }],
  ['a foreign frame', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }],
  ['a foreign image', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
  ['an old browser’s fetch', { host, 'sec-fetch-site': 'cross-site' }],
]

describe('the mails of portico dev', () => {
  for (const [name, headers, peer = '127.0.0.1', local = '127.0.0.1'] of allowed)
    it(`are shown to ${name}`, () => assert.equal(refusalOf({ headers, peer, local }, alone), undefined))
  for (const [name, headers, peer = '127.0.0.1', local = '127.0.0.1'] of refused)
    it(`are not shown to ${name}`, () =>
      assert.match(refusalOf({ headers, peer, local }, alone) ?? '', /^Mails are (not )?shown/))
})

it('shared mails are shown to other machines and through proxies, but not to rebound names or other origins', () => {
  const from = (headers: Headers) => refusalOf({ headers, peer: '172.17.0.1', local: '172.17.0.2' }, shared)
  for (const headers of [{ host }, { host: '192.168.1.5:3000' }, { host, 'x-forwarded-for': '192.0.2.1' }])
    assert.equal(from(headers), undefined, JSON.stringify(headers))
  for (const headers of [{ host: 'evil.example' }, {}, { host, origin: 'http://localhost:5173' }])
    assert.match(from(headers) ?? '', /^Mails are not shown/, JSON.stringify(headers))
})

it('portico start does not serve the pages', () =>
  withService({}, async ({ call }) => {
    for (const path of ['/dev/mail', '/dev/mail/1', '/dev/mail/templates'])
      assert.equal((await call(path)).status, 404)
  }))

const mail = (subject: string, text = ''): NewMail => ({ to: 'a@b.c', subject, text, at: 0, isSent: false })

it('the newest 200 mails are kept, each once, and fewer if they are long', () => {
  const box = new Mailbox()
  for (let count = 1; count <= 250; count++) box.add(mail(`no. ${count}`))
  const copy = new Mailbox()
  for (const mail of [...box.list().slice(0, 3), ...box.list()]) copy.put(mail)
  for (const { length, 0: newest, [199]: oldest } of [box.list(), copy.list()])
    assert.deepEqual([length, newest?.subject, newest?.id, oldest?.id], [200, 'no. 250', 250, 51])
  assert.equal(copy.add(mail('next')).id, 251)
  assert.equal(box.get(50), undefined)
  const long = 'x'.repeat(9_000_000)
  box.add(mail('first', long))
  assert.deepEqual([box.add(mail('second', long)).id, box.list().length], [252, 1])
  assert.equal(box.add(mail('third')).id, 253)
})
