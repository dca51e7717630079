/** Runs the test files that `scripts/test.mjs` names in one process. A test that leaves something global changed fails. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Not the names of globals: packages add some while later files are imported. */
function globals() {
  const { now } = Date
  const { random } = Math
  const { stdout, stderr } = process
  return {
    environment: { ...process.env },
    folder: process.cwd(),
    functions: [Date, now, random, fetch, setTimeout, setInterval, setImmediate, stdout.write, stderr.write],
  }
}

let before = globals()
beforeEach(() => {
  before = globals()
})
afterEach(() => assert.deepEqual(globals(), before, 'the test has left something global changed'))

for (const file of (process.env.PORTICO_TESTS_TOGETHER ?? '').split('\n').filter(Boolean)) {
  await import(pathToFileURL(join(import.meta.dirname, '..', file)).href)
}
