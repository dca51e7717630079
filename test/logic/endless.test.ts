/** Endless reactions are stopped, and others continue. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

test('reactions that loop or wait forever are stopped, and others continue', async () => {
  const file = join(import.meta.dirname, 'endless-process.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=portico-source', file])
  const { aborted, errors }: { readonly aborted: string[]; readonly errors: string[] } = JSON.parse(stdout)
  assert.deepEqual(aborted, ['never'])
  const [one = '', two = '', three = ''] = errors.toSorted()
  assert.match(one, /longer than 2 s/)
  assert.match(two, /reactions\.stuck was ended after 200 ms/)
  assert.match(three, /reactions\.stuck was ended after 200 ms/)
})
