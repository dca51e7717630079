/** Runs the test files of a group of `scripts/test.mjs` in one process. A test that leaves something global changed fails. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
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

/** The files of each group, from the root. */
const groups: Readonly<Record<string, readonly string[]>> = JSON.parse(
  process.env.PORTICO_TESTS_TOGETHER ?? '{}',
)

export async function runTogether(group: string): Promise<void> {
  const { promise: loaded, resolve: finish } = Promise.withResolvers<void>()
  // The others wait for it: a test that is declared while another one runs could be taken for a part of that.
  test('every file is loaded before a test begins', () => loaded)
  for (const file of groups[group] ?? []) {
    await import(pathToFileURL(join(import.meta.dirname, '..', '..', file)).href)
  }
  finish()
}
