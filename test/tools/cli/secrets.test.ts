/** `portico secrets`, while a service runs. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { withFixture } from '../../identity/conformance/server.ts'
import { type CommandResult, portico as command, type Environment } from '../../system/processes/command.ts'

function portico(words: readonly string[], environment: Environment): Promise<CommandResult> {
  return command(words, { environment })
}

test('rotating the key while a service runs keeps sign-ins and API keys valid, and the old key can be removed', async () => {
  await withFixture({}, async ({ deployment: { database: file }, call, restart }) => {
    const environment = { DATABASE_URL: file }
    const keyFile = file.replace(/\.db$/, '.key')
    const kids = async () =>
      ((await call('/oauth/jwks')).json as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    const before = await kids()
    const first = readFileSync(keyFile, 'utf8')
    const rotated = await portico(['secrets', 'rotate'], environment)
    assert.equal(rotated.code, 0, rotated.err)
    assert.match(rotated.out, /^Encrypted 2 records with the newest key.+secrets forget/)
    assert.deepEqual(await kids(), before)
    const forgotten = await portico(['secrets', 'forget'], environment)
    assert.match(forgotten.out, /^Removed 1 older key from the key file/)
    assert.ok(
      first
        .split('\n')
        .every(line => line.startsWith('#') || line === '' || !readFileSync(keyFile, 'utf8').includes(line)),
    )
    const keys = await portico(['keys', 'rotate'], environment)
    assert.equal(keys.code, 0, keys.err)
    assert.equal((await kids()).length, 4)
    await restart()
    assert.equal((await kids()).length, 4)
    const result = await portico(['keys', 'rotate', '--end-old'], environment)
    assert.match(result.out, /older keys were removed/)
    const keyIds = await kids()
    assert.equal(keyIds.length, 2)
    assert.ok(before.every(kid => !keyIds.includes(kid)))
  })
})

test('a key from the setting creates no file; a wrong one stops a command with a sentence', async () => {
  const { out: firstOutput } = await portico(['secrets', 'generate'], {})
  const { out: other } = await portico(['secrets', 'generate'], {})
  assert.match(firstOutput, /^[A-Za-z0-9_-]{43}\n$/)
  assert.notEqual(firstOutput, other)
  await withFixture({ secretKeys: [firstOutput.trim()] }, async ({ deployment: { database: file } }) => {
    assert.ok(!existsSync(file.replace(/\.db$/, '.key')))
    const settings = { DATABASE_URL: file, PORTICO_SECRET_KEY: firstOutput.trim() }
    assert.equal((await portico(['keys', 'rotate'], settings)).code, 0)
    const wrong = await portico(['keys', 'rotate'], { ...settings, PORTICO_SECRET_KEY: other.trim() })
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /^The database is encrypted with a key that is not among the given ones[^\n]+\n$/)
    assert.ok(!wrong.err.includes(other.trim()))
    const none = await portico(['keys', 'rotate'], { DATABASE_URL: file })
    assert.match(none.err, /^The key file .+ is missing[^\n]+\n$/)
    const both = { ...settings, PORTICO_SECRET_KEY: `${other.trim()},${firstOutput.trim()}` }
    assert.match((await portico(['secrets', 'rotate'], both)).out, /leave only the first one/)
    assert.equal(
      (await portico(['keys', 'rotate'], { ...settings, PORTICO_SECRET_KEY: other.trim() })).code,
      0,
    )
  })
})

test('nothing can be rotated before the first start', async () => {
  await withFixture({}, async ({ deployment: { database: file } }) => {
    rmSync(file.replace(/\.db$/, '.key'))
    const { code, err } = await portico(['secrets', 'rotate'], { DATABASE_URL: file })
    assert.equal(code, 1)
    assert.match(err, /^There is no key file .+: the first start creates it, or a backup contains it\.\n$/)
  })
})
