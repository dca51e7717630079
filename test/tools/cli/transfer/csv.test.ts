import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvRow } from '../../../../src/base/csv-row.ts'
import { parseCsvRow } from '../../../../src/tools/cli/transfer/csv.ts'
import { splitRecords } from '../../../../src/tools/cli/transfer/records.ts'

/** The parsed rows when the bytes arrive in chunks of this size. */
async function rowsOf(bytes: Buffer, pieceSize: number, maxBytes = 1000) {
  async function* pieces() {
    for (let index = 0; index < bytes.length; index += pieceSize)
      yield bytes.subarray(index, index + pieceSize)
  }
  const rows: { text: string; line: number }[] = []
  for await (const records of splitRecords(pieces(), 'csv', maxBytes)) {
    for (const { bytes: own, line } of records) rows.push({ text: own.toString('utf8'), line })
  }
  return rows
}

function cellsOf(text: string) {
  return parseCsvRow(text.replace(/\r?\n$/, '')).map(cell =>
    cell.text === '' && !cell.isQuoted ? undefined : cell.text,
  )
}

const cell = fc.oneof(
  fc.constant(undefined),
  fc.string(),
  fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', 'é', ' ', 'a') }),
)

test('every table of texts and nulls survives writing and reading, whatever the chunks', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 20 }),
      async (table, pieceSize) => {
        const bytes = Buffer.from(table.map(csvRow).join(''))
        const rows = await rowsOf(bytes, pieceSize)
        assert.deepEqual(
          rows.map(row => cellsOf(row.text)),
          table,
        )
        assert.equal(rows.map(row => row.text).join(''), bytes.toString('utf8'))
      },
    ),
    { numRuns: 100 },
  ))

test('a row is numbered by its first line, and a byte order mark is not part of a cell', async () => {
  const rows = await rowsOf(Buffer.from('\ufeff"a\nb",c\r\n"x ""y""\n\n",2\n3,4'), 3)
  assert.deepEqual(
    rows.map(row => row.line),
    [1, 3, 6],
  )
  assert.deepEqual(cellsOf(rows[1]?.text ?? ''), ['x "y"\n\n', '2'])
})

test('the ambiguous cases of RFC 4180 are parsed', () => {
  assert.deepEqual(cellsOf('aaa,"b ""q"" bb",ccc\r\n'), ['aaa', 'b "q" bb', 'ccc'])
  assert.deepEqual(cellsOf(' a , b '), [' a ', ' b '])
  assert.deepEqual(cellsOf(',"",'), [undefined, '', undefined])
  const faults: readonly (readonly [string, RegExp])[] = [
    ['a,b"c', /^Cell 2 contains a quote/],
    ['a,"b"c', /^After the closing quote of cell 2 there must be a comma/],
    ['a,"b', /^The quote that opens cell 2 is never closed/],
    ['a\rb,c', /^Cell 1 contains a carriage return/],
  ]
  for (const [row, message] of faults) assert.throws(() => parseCsvRow(row), { message })
})

test('a row is limited: an unclosed quote does not read the rest of the file into memory', async () => {
  const bytes = Buffer.from(`a,b\n1,"${'x\n'.repeat(600)}`)
  await assert.rejects(rowsOf(bytes, 100), { message: /begins at line 2 is longer than 1,000 bytes/ })
})
