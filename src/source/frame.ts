/** Code frames: a place in a source file with the lines around it. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { styleText } from 'node:util'
import { printable } from '../printable.ts'

/** A place in a file. Lines and columns count from 1. */
export interface SourcePlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

const linesAround = 2
const maxLineCharacters = 160

/** Colours where standard error is a terminal that takes them, and NO_COLOR is not set. */
export function styled(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { stream: process.stderr })
}

/** The path relative to the working folder, if it is in there. */
export function shownPath(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') ? path : near
}

function readLines(file: string): readonly string[] | undefined {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch {
    return undefined
  }
}

/** `skipped`: how many characters at the start are left out. */
function shownLine(text: string, skipped: number): string {
  const cut = skipped === 0 || text === '' ? text : `…${text.slice(skipped)}`
  return printable(cut.replaceAll('\t', ' ')).slice(0, maxLineCharacters)
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
  // In a long line, what is shown begins shortly before the place.
  const skipped = column > maxLineCharacters ? column - maxLineCharacters / 2 : 0
  const shown = [place]
  for (let at = first; at <= last; at++) {
    const isFault = at === line
    const number = `${isFault ? '>' : ' '} ${String(at).padStart(width)} | `
    const text = `${number}${shownLine(lines[at - 1] ?? '', skipped)}`.trimEnd()
    shown.push(isFault ? styled('bold', text) : styled('dim', text))
    if (isFault)
      shown.push(
        `${' '.repeat(width + 2)} | ${' '.repeat(markColumn(lines[at - 1], column, skipped))}${styled('red', '^')}`,
      )
  }
  return shown.join('\n')
}

function markColumn(text = '', column: number, skipped: number): number {
  return Math.min(shownLine(text.slice(0, Math.max(0, column - 1)), skipped).length, maxLineCharacters)
}
