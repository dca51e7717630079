/** A stop in which a reaction still runs: the process ends when everything is closed, and counts as no end of the process. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'

const program = join(import.meta.dirname, 'stopping-process.ts')

/** Starts the program, stops it once its reaction has started, and returns what it has printed. */
async function startAndStop(file: string): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=portico-source', program, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  try {
    const closed = once(child, 'close')
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text
      if (output === 'started\n') child.kill('SIGTERM')
    })
    assert.deepEqual(await closed, [0, null], output)
    return output
  } finally {
    child.kill('SIGKILL')
  }
}

test('the process ends once everything is closed, and the run starts again each time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-stop-'))
  try {
    const file = join(folder, 'notes.db')
    for (let start = 0; start < 2; start++)
      assert.equal(await startAndStop(file), 'started\nclosed\n', `start ${start}`)
    const database = new DatabaseSync(file, { readOnly: true })
    const rows = database.prepare("SELECT payload FROM _records WHERE payload LIKE '%process ended%'").all()
    assert.deepEqual(rows, [], 'no end of the process is counted')
    database.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
