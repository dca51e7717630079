/** Runs test files in one process. A test that leaves something global changed fails. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { relative, resolve } from 'node:path'
import { afterEach, beforeEach, suite } from 'node:test'

const root = resolve(import.meta.dirname, '..')

/** The global state that a test must restore. Not the names of globals: packages add some when later files are imported. */
function globalState() {
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
 * `files`: absolute paths. `scripts/test.mjs` writes a program that calls this. Each file is a suite, so its hooks apply to
 * its own tests only.
 */
export function runTogether(files: readonly string[]): void {
  let before = globalState()
  beforeEach(() => {
    before = globalState()
  })
  afterEach(() => assert.deepEqual(globalState(), before, 'the test has changed global state'))
  // `import` would run the file in another asynchronous context, where its tests and hooks belong to no suite.
  const require = createRequire(import.meta.url)
  for (const file of files) suite(relative(root, file), () => void require(file))
}
