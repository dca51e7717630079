/** Code frames: a place in a source file with the lines around it. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { styleText } from 'node:util'
import { printable } from '../../../base/printable.ts'

/** A place in a file. Lines and columns count from 1. */
export interface SourcePlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

const linesAround = 2
const maxLineCharacters = 160

/** Colours only if standard error is a terminal that supports them, and NO_COLOR is not set. */
function styled(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { stream: process.stderr })
}

/** The path relative to the working folder, if the file is in it. */
export function shownPath(path: string): string {
  const relativePath = relative(process.cwd(), path)
  return relativePath === '' || relativePath.startsWith('..') ? path : relativePath
}

function readLines(file: string): readonly string[] | undefined {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch {
    return undefined
  }
}

/** `skipped`: the number of characters at the start that are omitted. */
function shownLine(text: string, skipped: number): string {
  const visibleText = skipped === 0 || text === '' ? text : `…${text.slice(skipped)}`
  return printable(visibleText.replaceAll('\t', ' ')).slice(0, maxLineCharacters)
}

/** The place and the lines around it; only the place if the file cannot be read. */
export function codeFrame({ file, line, column }: SourcePlace): string {
  const place = styled('cyan', `${printable(shownPath(file))}:${line}:${column}`)
  const lines = readLines(file)
  if (lines?.[line - 1] === undefined) return place
  const first = Math.max(1, line - linesAround)
  const end = lines.at(-1) === '' ? Math.max(line, lines.length - 1) : lines.length
  const last = Math.min(end, line + linesAround)
  const width = String(last).length
  // Of a long line, the shown part begins shortly before the place.
  const skipped = column > maxLineCharacters ? column - maxLineCharacters / 2 : 0
  const frame = [place]
  for (let number = first; number <= last; number++) {
    const isFault = number === line
    const margin = `${isFault ? '>' : ' '} ${String(number).padStart(width)} | `
    const text = `${margin}${shownLine(lines[number - 1] ?? '', skipped)}`.trimEnd()
    frame.push(isFault ? styled('bold', text) : styled('dim', text))
    if (isFault)
      frame.push(
        `${' '.repeat(width + 2)} | ${' '.repeat(markColumn(lines[number - 1], column, skipped))}${styled('red', '^')}`,
      )
  }
  return frame.join('\n')
}

function markColumn(text = '', column: number, skipped: number): number {
  return Math.min(shownLine(text.slice(0, Math.max(0, column - 1)), skipped).length, maxLineCharacters)
}
