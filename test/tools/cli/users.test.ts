import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { withSmtp } from '../../identity/smtp.ts'
import { portico as command } from '../../system/processes/command.ts'

let folder = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-users-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const environment = { HOST: '127.0.0.1', PORT: '0' }
const portico = (...words: string[]) => command(words, { folder, environment })

test('an operator disables and enables accounts, and lists what they own', async () => {
  await portico('users', 'create', '--email', 'root@b.example', '--role', 'admin')
  await portico('users', 'create', '--email', 'ann@b.example')
  const rows: readonly (readonly [string[], number, RegExp])[] = [
    [['disable', 'ann@b.example'], 0, /is disabled[\s\S]*No mail was sent: no mail server is configured/],
    [['enable', 'ann@b.example'], 0, /is enabled/],
    [['disable', 'root@b.example'], 1, /without an enabled administrator/],
    [['disable', 'nobody@b.example'], 1, /No user has the e-mail address/],
    [['set-password', 'ann@b.example', '--password', 'short'], 2, /--password.*at least/],
    [['set-password', 'ann@b.example'], 0, /new password: .*shown once/],
    [['sessions', 'ann@b.example'], 0, /has no sessions/],
    [['sessions', 'ann@b.example', '--end', 'x'], 1, /has no session x/],
    [['grants', 'ann@b.example', '--revoke', 'x'], 1, /has granted x no access/],
  ]
  for (const [words, code, pattern] of rows) {
    const result = await portico('users', ...words)
    assert.match(result.out + result.err, pattern, words.join(' '))
    assert.equal(result.code, code, result.err)
  }
})

test('the user is notified by mail when a mail server is configured', () =>
  withSmtp(async (smtp, received) => {
    await portico('users', 'create', '--email', 'ben@b.example')
    const mailing = { folder, environment: { ...environment, PORTICO_SMTP: smtp } }
    const { out, err } = await command(['users', 'set-password', 'ben@b.example'], mailing)
    assert.match(out, /A mail was sent/, err)
    assert.ok(received.commands.includes('RCPT TO:<ben@b.example>'))
    const password = /new password: (\S+)/.exec(out)?.[1] ?? assert.fail(out)
    assert.ok(!received.data.includes(password))
  }))
