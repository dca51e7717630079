/** Parses and writes one row of CSV (RFC 4180). An empty cell is null; an empty cell in quotes is an empty text. */

export interface Cell {
  readonly text: string
  readonly isQuoted: boolean
}

/** The message names the cell; the first is 1. */
export class CsvFault extends Error {}

const QUOTE = '"'

/** The index of the quote that closes a cell. */
function closingQuote(text: string, from: number, cell: number): number {
  for (let at = text.indexOf(QUOTE, from); at >= 0; at = text.indexOf(QUOTE, at + 2)) {
    if (text[at + 1] !== QUOTE) return at
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
  let at = 0
  for (;;) {
    if (row[at] === QUOTE) {
      const end = closingQuote(row, at + 1, cells.length + 1)
      cells.push({ text: row.slice(at + 1, end).replaceAll('""', QUOTE), isQuoted: true })
      at = end + 1
    } else {
      const comma = row.indexOf(',', at)
      const end = comma < 0 ? row.length : comma
      cells.push(plainCell(row.slice(at, end), cells.length + 1))
      at = end
    }
    if (at === row.length) return cells
    if (row[at] !== ',')
      throw new CsvFault(`After the closing quote of cell ${cells.length} there must be a comma.`)
    at += 1
  }
}

const needsQuotes = /[",\r\n]|^\s|\s$|^$/

function csvCell(text: string | undefined): string {
  if (text === undefined) return ''
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Returns a row with its line end. `undefined` is null. */
export function csvRow(cells: readonly (string | undefined)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
