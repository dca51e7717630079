/** `kill -9` under write load: acknowledged writes exist, none is partial, and the next start is fast. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, withFile } from '../../engine/store/blog.ts'
import { type AcknowledgedTitles, assertIntact } from './acknowledged.ts'
import { killRounds } from './rounds.ts'

const program = fileURLToPath(new URL('writing-process.ts', import.meta.url))
const maxReopenMs = 1000

/** Runs the load until some writes are acknowledged and a moment longer, then kills it. */
async function killDuringLoad(file: string, author: number, round: number): Promise<string> {
  const child = spawn(process.execPath, [program, file, String(author), String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8')
  const enough = randomInt(500, 8000)
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.length > enough) child.kill('SIGKILL')
  }
  return output
}

function read(output: string, into: AcknowledgedTitles): void {
  // The kill may truncate the last line.
  for (const line of output.slice(0, output.lastIndexOf('\n') + 1).split('\n')) {
    if (line === '') continue
    const [id, ...states] = JSON.parse(line) as [number, ...(string | null)[]]
    into.set(id, states)
  }
}

test(`${killRounds()} kills under write load lose no acknowledged write`, async context => {
  await withFile(async file => {
    const acknowledged: AcknowledgedTitles = new Map()
    const first = openSqlite(blog, { file })
    const author = await new Client(first).create('users', { name: 'Ann', email: 'ann@example.com' })
    await first.close()
    let slowest = 0
    for (let round = 0; round < killRounds(); round++) {
      read(await killDuringLoad(file, author.id, round), acknowledged)
      const before = performance.now()
      const store = openSqlite(blog, { file })
      await new Client(store).item('users', author.id)
      slowest = Math.max(slowest, performance.now() - before)
      await store.close()
      assertIntact(file, acknowledged)
    }
    assert.ok(acknowledged.size > killRounds())
    // Not a benchmark: a recovery that reads everything would take much longer.
    assert.ok(slowest < maxReopenMs, `a start took ${slowest} ms`)
    context.diagnostic(`${acknowledged.size} acknowledged items, slowest start ${slowest.toFixed(1)} ms`)
  })
})
