/** The rows of CSV (RFC 4180). */

/** Also where a program separates by semicolons or tabs, or trims what is not quoted; an empty text differs from null. */
const needsQuotes = /[",;\t\r\n]|^\s|\s$|^$/

function csvCell(text: string | undefined): string {
  if (text === undefined) return ''
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Returns a row with its line end. `undefined` is null. */
export function csvRow(cells: readonly (string | undefined)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
