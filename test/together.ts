/** Runs test files in one process. A test that leaves something global changed fails. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'node:test'

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

/** The files, by their URLs: `scripts/test.mjs` writes a program that calls this. */
export async function runTogether(files: readonly string[]): Promise<void> {
  let before = globals()
  beforeEach(() => {
    before = globals()
  })
  afterEach(() => assert.deepEqual(globals(), before, 'the test has left something global changed'))
  for (const file of files) await import(file)
}
