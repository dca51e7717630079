/** `portico secrets`, beside a service that runs. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { withFixture } from '../conformance/oauth/server.ts'

const bin = resolve(import.meta.dirname, '../../src/bin.ts')
const model = resolve(import.meta.dirname, '../../examples/blog/model.ts')

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function portico(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const env = { PATH: process.env.PATH, PORTICO_MODEL: model, ...environment }
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--conditions=portico-source', bin, ...words],
      { env },
    )
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as Ended
    return { code, stdout, stderr }
  }
}

test('a new key beside a running service; the old one is removed; sign-in and keys go on', async () => {
  await withFixture({}, async ({ place: { database: file }, call, restart }) => {
    const environment = { DATABASE_URL: file }
    const keyFile = file.replace(/\.db$/, '.key')
    const kids = async () =>
      ((await call('/oauth/jwks')).json as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    const before = await kids()
    const first = readFileSync(keyFile, 'utf8')
    const rotated = await portico(['secrets', 'rotate'], environment)
    assert.equal(rotated.code, 0, rotated.stderr)
    assert.match(rotated.stdout, /^2 records are sealed with the newest key now.+secrets forget/)
    assert.deepEqual(await kids(), before)
    const forgotten = await portico(['secrets', 'forget'], environment)
    assert.match(forgotten.stdout, /^1 older keys are gone/)
    assert.ok(
      first
        .split('\n')
        .every(line => line.startsWith('#') || line === '' || !readFileSync(keyFile, 'utf8').includes(line)),
    )
    const keys = await portico(['keys', 'rotate'], environment)
    assert.equal(keys.code, 0, keys.stderr)
    assert.equal((await kids()).length, 4)
    await restart()
    assert.equal((await kids()).length, 4)
  })
})

test('a key from the setting takes no file; a wrong one stops a command with a sentence', async () => {
  const { stdout: one } = await portico(['secrets', 'generate'], {})
  const { stdout: other } = await portico(['secrets', 'generate'], {})
  assert.match(one, /^[A-Za-z0-9_-]{43}\n$/)
  assert.notEqual(one, other)
  await withFixture({ secretKeys: [one.trim()] }, async ({ place: { database: file } }) => {
    assert.ok(!existsSync(file.replace(/\.db$/, '.key')))
    const given = { DATABASE_URL: file, PORTICO_SECRET_KEY: one.trim() }
    assert.equal((await portico(['keys', 'rotate'], given)).code, 0)
    const wrong = await portico(['keys', 'rotate'], { ...given, PORTICO_SECRET_KEY: other.trim() })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /^The database is sealed with another key[^\n]+\n$/)
    assert.ok(!wrong.stderr.includes(other.trim()))
    const none = await portico(['keys', 'rotate'], { DATABASE_URL: file })
    assert.match(none.stderr, /^The key file .+ is missing[^\n]+\n$/)
    const both = { ...given, PORTICO_SECRET_KEY: `${other.trim()},${one.trim()}` }
    assert.match((await portico(['secrets', 'rotate'], both)).stdout, /leave only the first one/)
    assert.equal((await portico(['keys', 'rotate'], { ...given, PORTICO_SECRET_KEY: other.trim() })).code, 0)
  })
})

test('before the first start there is nothing to rotate', async () => {
  await withFixture({}, async ({ place: { database: file } }) => {
    rmSync(file.replace(/\.db$/, '.key'))
    const { code, stderr } = await portico(['secrets', 'rotate'], { DATABASE_URL: file })
    assert.equal(code, 1)
    assert.match(stderr, /^There is no key file .+: the first start makes it, or a backup has it\.\n$/)
  })
})
