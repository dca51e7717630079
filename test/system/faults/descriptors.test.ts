/** A process without descriptors: what needs one fails, the log tells it once, and everything works once there are some. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withFile } from '../../engine/store/blog.ts'

const program = fileURLToPath(new URL('descriptor-exhausting-process.ts', import.meta.url))

test('pages, GraphQL and reader processes that cannot be opened are told once in the log, and work afterwards', () =>
  withFile(file => {
    const args = [
      '-c',
      'ulimit -n 200 && exec "$@"',
      'sh',
      process.execPath,
      ...process.execArgv,
      program,
      file,
    ]
    const { stdout, stderr } = spawnSync('sh', args, {
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const answers = [500, 500, 503]
    assert.deepEqual(
      lines.at(-1),
      { during: [answers, answers, answers], afterwards: [200, 200, 200] },
      stderr,
    )
    const messages = (level: number) => lines.filter(line => line.level === level).map(({ msg }) => msg)
    assert.deepEqual(messages(50), [
      'no more files and connections can be opened: raise `ulimit -n`; further failures are counted until they can',
    ])
    const end = lines.find(({ msg }) => msg === 'files and connections can be opened again')
    assert.equal(end?.failures, 8)
  }))
