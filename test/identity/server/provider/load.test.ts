/** One warning of oidc-provider is kept off standard error, and no other is. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const library = resolve(import.meta.dirname, '../../../../src/identity/server/provider/load.ts')
const sentence = 'Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.'

async function standardError(script: string): Promise<string> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: resolve(import.meta.dirname, '../../../..'),
  })
  return stderr
}

test('oidc-provider contains the expected warning', () => {
  const file = resolve(import.meta.dirname, '../../../../node_modules/oidc-provider/lib/index.js')
  assert.ok(readFileSync(file, 'utf8').includes(`attention.warn('${sentence}')`))
})

test('loading oidc-provider prints nothing on any release of Node', async () => {
  assert.equal(await standardError(`await import(${JSON.stringify(library)})`), '')
  const onOtherRelease = `Object.defineProperty(process, 'release', { value: {} }); await import(${JSON.stringify(library)})`
  assert.equal(await standardError(onOtherRelease), '')
  const bare = `Object.defineProperty(process, 'release', { value: {} }); await import('oidc-provider')`
  assert.match(await standardError(bare), /Unsupported runtime/)
})

test('other warnings are printed, while oidc-provider loads and afterwards', async () => {
  const script = `
    const loading = import(${JSON.stringify(library)})
    const interval = setInterval(() => console.warn('interval'), 1)
    console.warn('one', 'oidc-provider WARNING: ${sentence}')
    await loading
    await new Promise(resolve => setTimeout(resolve, 20))
    clearInterval(interval)
    console.warn('oidc-provider WARNING: ${sentence}')`
  const lines = (await standardError(script)).trim().split('\n')
  assert.equal(lines[0], `one oidc-provider WARNING: ${sentence}`)
  assert.equal(lines.at(-1), `oidc-provider WARNING: ${sentence}`)
  assert.ok(lines.slice(1, -1).length > 0 && lines.slice(1, -1).every(line => line === 'interval'))
})
