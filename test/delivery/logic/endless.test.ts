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
  const [first = '', second = '', third = ''] = errors.toSorted()
  assert.match(first, /longer than 2 s/)
  assert.match(second, /reactions\.stuck was ended after 200 ms/)
  assert.match(third, /reactions\.stuck was ended after 200 ms/)
})
