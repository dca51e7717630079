import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const program = `
import { IdlePruning } from '${import.meta.resolve('../../../../src/engine/store/log/idle-pruning.ts')}'
const { promise: stepped, resolve } = Promise.withResolvers()
const pruning = new IdlePruning({ intervalMs: 1, step: async () => { resolve(); return true } })
const waiting = setTimeout(() => {}, 1000)
await stepped
clearTimeout(waiting)
await pruning.close()
console.log('closed')
`

test('close resolves between two steps even if no other handle keeps the process alive', () => {
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  assert.deepEqual({ stdout, status }, { stdout: 'closed\n', status: 0 })
})
