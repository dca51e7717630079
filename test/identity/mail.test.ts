/** Mail is sent by SMTP, or logged and marked as unsent if there is no server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMail } from '../../src/identity/mail/mail.ts'
import { withSmtp } from './smtp.ts'

interface Logged {
  readonly level: string
  readonly fields: object
  readonly message: string
}

function recorder() {
  const lines: Logged[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message })
  return { lines, warn: write('warn'), error: write('error') }
}

const from = 'Example <no-reply@example.com>'
const message = {
  to: 'ada@example.com',
  subject: 'A link für Sie',
  text: 'Open https://x.example.com/?token=abc\n',
}

test('a message arrives unchanged at its only receiver', async () => {
  await withSmtp(async (smtp, received) => {
    const log = recorder()
    const mail = createMail({ smtp, from }, log)
    assert.equal(mail.delivers, true)
    await mail.send(message)
    assert.deepEqual(
      received.commands.filter(line => /^(MAIL|RCPT)/.test(line)),
      ['MAIL FROM:<no-reply@example.com>', 'RCPT TO:<ada@example.com>'],
    )
    assert.match(received.data, /^From: Example <no-reply@example\.com>$/m)
    assert.match(received.data, /^To: ada@example\.com$/m)
    assert.match(received.data, /token=abc|token=3Dabc/)
    assert.deepEqual(log.lines, [])
  })
})

test('a mail has a plain part before its HTML part, and headers that mark it as automatic and name its language', async () => {
  await withSmtp(async (smtp, received) => {
    const html = '<!doctype html><p>Für <a href="https://x.example.com/?a=1&amp;b=2">Sie</a></p>'
    await createMail({ smtp, from }, recorder()).send({ ...message, html, language: 'de', template: 'x' })
    const [head = '', ...body] = received.data.split('\n\n')
    assert.match(head, /^Content-Type: multipart\/alternative;/m)
    assert.match(
      body.join('\n\n'),
      /Content-Type: text\/plain; charset=utf-8.*Content-Type: text\/html; charset=utf-8/s,
    )
    assert.match(head, /^Auto-Submitted: auto-generated$/m)
    assert.match(head, /^Content-Language: de$/m)
    assert.match(head, /^Message-ID: <[\w.-]+@example\.com>$/m)
    assert.match(head, /^Date: /m)
    assert.doesNotMatch(head, /List-Unsubscribe|X-Mailer|template/i)
  })
})

test('neither an address nor a subject can add a receiver or a header', async () => {
  await withSmtp(async (smtp, received) => {
    const mail = createMail({ smtp, from }, recorder())
    const evil = { ...message, to: 'ada@example.com, eve@example.com', subject: 'x\r\nBcc: eve@example.com' }
    await mail.send(evil).catch(() => {})
    const receivers = received.commands.filter(line => line.startsWith('RCPT'))
    assert.ok(!receivers.some(line => line.includes('<eve@example.com>')), receivers.join())
    assert.doesNotMatch(received.data, /^Bcc:/m)
  })
})

test('a server that refuses a message or cannot be reached is reported to the operator', async () => {
  await withSmtp(async smtp => {
    const log = recorder()
    await assert.rejects(createMail({ smtp, from }, log).send(message), { code: 'UNAVAILABLE' })
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['error'],
    )
  }, '550 nobody here')
  const log = recorder()
  await assert.rejects(createMail({ smtp: 'smtp://127.0.0.1:1', from }, log).send(message), {
    code: 'UNAVAILABLE',
  })
  assert.equal(log.lines.length, 1)
})

test('without a server, the message is logged and marked as not sent', async () => {
  const log = recorder()
  const mail = createMail({ smtp: undefined, from }, log)
  assert.equal(mail.delivers, false)
  await mail.send(message)
  const [line] = log.lines
  assert.equal(log.lines.length, 1)
  assert.match(line?.message ?? '', /^NOT SENT/)
  assert.deepEqual(line?.fields, message)
})
