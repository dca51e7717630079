/**
 * Parses and writes one row of CSV (RFC 4180). An empty cell is null; an empty cell in quotes is an empty text, as in
 * PostgreSQL's `COPY`. Not by csv-parse 7.0: an import needs the exact number of bytes up to the end of each row to resume,
 * and continues after a faulty row, where that library ends the stream.
 */

export interface Cell {
  readonly text: string
  readonly isQuoted: boolean
}

/** The message names the number of the cell, from 1. */
export class CsvFault extends Error {}

const QUOTE = '"'

/** The index of the quote that closes a cell. */
function closingQuote(text: string, from: number, cell: number): number {
  for (let index = text.indexOf(QUOTE, from); index >= 0; index = text.indexOf(QUOTE, index + 2)) {
    if (text[index + 1] !== QUOTE) return index
  }
  throw new CsvFault(`The quote that opens cell ${cell} is never closed.`)
}

function plainCell(text: string, cell: number): Cell {
  if (text.includes(QUOTE)) {
    throw new CsvFault(`Cell ${cell} contains a quote: enclose the cell in quotes, and double those in it.`)
  }
  if (text.includes('\r')) throw new CsvFault(`Cell ${cell} contains a carriage return outside quotes.`)
  return { text, isQuoted: false }
}

/** Parses a row without its line end. */
export function parseCsvRow(row: string): readonly Cell[] {
  const cells: Cell[] = []
  let index = 0
  for (;;) {
    if (row[index] === QUOTE) {
      const end = closingQuote(row, index + 1, cells.length + 1)
      cells.push({ text: row.slice(index + 1, end).replaceAll('""', QUOTE), isQuoted: true })
      index = end + 1
    } else {
      const comma = row.indexOf(',', index)
      const end = comma < 0 ? row.length : comma
      cells.push(plainCell(row.slice(index, end), cells.length + 1))
      index = end
    }
    if (index === row.length) return cells
    if (row[index] !== ',')
      throw new CsvFault(`After the closing quote of cell ${cells.length} there must be a comma.`)
    index += 1
  }
}
