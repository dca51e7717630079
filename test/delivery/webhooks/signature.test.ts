/** Signatures, verified by the Standard Webhooks package, and the stored excerpts of responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { excerptOf, maxExcerptBytes } from '../../../src/delivery/webhooks/excerpt.ts'
import { signatureHeaders } from '../../../src/delivery/webhooks/signature.ts'

const secretOf = (byte: number, length = 24) => `whsec_${Buffer.alloc(length, byte).toString('base64')}`

test('a receiver accepts a signed message and refuses a changed one', () => {
  const body = '{"type":"post.created","text":"Grüße ☂"}'
  const timestamp = Math.floor(Date.now() / 1000)
  for (const length of [24, 32, 64]) {
    const secret = secretOf(7, length)
    const headers = signatureHeaders({ id: 'msg_1', timestamp, body }, [secret])
    const receiver = new Webhook(secret)
    assert.deepEqual(receiver.verify(body, headers), JSON.parse(body))
    assert.throws(() => receiver.verify(body.replace('created', 'updated'), headers))
    assert.throws(() => receiver.verify(body, { ...headers, 'webhook-id': 'msg_2' }))
    assert.throws(() => receiver.verify(body, { ...headers, 'webhook-timestamp': String(timestamp - 1) }))
    assert.throws(() => new Webhook(secretOf(8, length)).verify(body, headers))
  }
})

test('during a rotation, receivers with either secret accept the message', () => {
  const [former, next] = [secretOf(1), secretOf(2)]
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = signatureHeaders({ id: 'msg_1', timestamp, body: '{}' }, [next, former])
  for (const secret of [former, next]) assert.deepEqual(new Webhook(secret).verify('{}', headers), {})
  assert.throws(() => new Webhook(secretOf(3)).verify('{}', headers))
})

test('an excerpt contains no control characters or bidirectional formatting characters', () => {
  const text = 'a\u0000b\u001b[31mc\r\n\td\u202Ee\u2066f\u007fg\u0085h'
  assert.equal(excerptOf(Buffer.from(text)), 'ab[31mc\n\tdefgh')
})

test('an excerpt is limited in bytes, whatever the body contains', () => {
  const bodies = [
    Buffer.alloc(100_000, 'x'),
    Buffer.alloc(100_000, 0xff),
    Buffer.from('ü'.repeat(10_000)),
    Buffer.from(`x${'😀'.repeat(10_000)}`),
    Buffer.alloc(0),
  ]
  for (const body of bodies) {
    const excerpt = excerptOf(body)
    assert.ok(Buffer.byteLength(excerpt) <= maxExcerptBytes)
    assert.ok(excerpt.isWellFormed())
  }
  assert.equal(excerptOf(Buffer.alloc(100_000, 'x')).length, maxExcerptBytes)
})
