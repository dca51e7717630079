import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { codeFrame } from '../../../../src/server/project/source/frame.ts'

test('the mark is below the fault, also far to the right in a long line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-frame-'))
  try {
    const file = join(folder, 'model.ts')
    for (const before of [0, 10, 158, 159, 160, 161, 500]) {
      writeFileSync(file, `first\n${'x'.repeat(before)}FAULT${'y'.repeat(300)}\n`)
      const lines = stripVTControlCharacters(codeFrame({ file, line: 2, column: before + 1 })).split('\n')
      const marked = lines.findIndex(line => /^ +\| +\^$/.test(line))
      const column = lines[marked]?.indexOf('^')
      assert.equal(lines[marked - 1]?.[column ?? 0], 'F', `${before} characters before the fault`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
