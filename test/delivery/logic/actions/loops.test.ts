/** Endless actions are stopped and undone without affecting other writes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { withPostgres } from '../../../setups/databases/postgres.ts'

const program = fileURLToPath(new URL('./loops.ts', import.meta.url))

async function outcomes(url: string) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=portico-source',
    program,
    url,
  ])
  return JSON.parse(stdout)
}

const pairs = (count: number) => Array.from({ length: count }, () => 'before behind').join(' ')

const expected = (bound: number) => [
  ['at_once', 201, 500, 201, pairs(1)],
  ['in_microtasks', 201, 500, 201, pairs(2)],
  ['with_data', 201, bound, 201, pairs(3)],
  ['after_data', 201, 500, 201, pairs(4)],
  ['in_rejections', 201, 500, 201, pairs(5)],
  ['in_caught', 201, 500, 201, pairs(6)],
]

test('endless actions are stopped and undone on SQLite', async () => {
  assert.deepEqual(await outcomes(':memory:'), expected(400))
})

test('endless actions are stopped and undone on PostgreSQL', () =>
  withPostgres(async url => {
    const all = await outcomes(url)
    // The limit of calls or that of time, whichever is reached first.
    assert.ok([400, 503].includes(all[2][2]), JSON.stringify(all[2]))
    assert.deepEqual(all, expected(all[2][2]))
  }))
