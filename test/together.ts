/** Runs test files in one process. A test that leaves something global changed fails. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { relative, resolve } from 'node:path'
import { afterEach, beforeEach, suite } from 'node:test'

const root = resolve(import.meta.dirname, '..')

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

/**
 * The files, by their absolute paths: `scripts/test.mjs` writes a program that calls this. Each file is a suite, so its hooks
 * are its own.
 */
export function runTogether(files: readonly string[]): void {
  let before = globals()
  beforeEach(() => {
    before = globals()
  })
  afterEach(() => assert.deepEqual(globals(), before, 'the test has left something global changed'))
  // Not `import`, which runs the file in another asynchronous context: its tests and hooks would belong to no suite.
  const require = createRequire(import.meta.url)
  for (const file of files) suite(relative(root, file), () => void require(file))
}
