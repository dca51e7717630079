/** The place of an error in the project's own sources, from its stack or message. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownFolder, packageFolder } from '../../../base/package-files.ts'
import type { SourcePlace } from './frame.ts'

/** Portico's own modules: the built package also names the sources, in the stacks of its log. */
const ownPaths = [ownFolder, new URL('src/', packageFolder)].map(folder => fileURLToPath(folder))

/** Whether the file belongs to the project, and not to Portico or another package. */
export function isOwnSource(path: string): boolean {
  return !path.includes(`${sep}node_modules${sep}`) && !ownPaths.some(own => path.startsWith(own))
}

/** Only modules: the message of an error may be untrusted, and must not make us read `.env` or a device. */
const modulePath = /^(\/|[A-Za-z]:[\\/]).*\.(?:[cm]?[jt]sx?|json)$/

function pathOf(location: string): string | undefined {
  const path = location.startsWith('file://') ? filePath(location.replace(/[?#].*$/, '')) : location
  return path !== undefined && modulePath.test(path) ? path : undefined
}

/** Undefined for a URL with a host, or without a valid path. */
function filePath(url: string): string | undefined {
  try {
    return fileURLToPath(url)
  } catch {
    return undefined
  }
}

/**
 * Node puts the place of a syntax error in front of the stack: `file:line`, the source, and a mark below the column.
 * For a syntax error of TypeScript it shows several lines, the faulty one last.
 */
function markedPlace(stack: string): SourcePlace | undefined {
  const [head = '', ...lines] = stack.split('\n')
  const [, location, line] = /^(.+):(\d+)$/.exec(head) ?? []
  const file = location === undefined ? undefined : pathOf(location)
  if (file === undefined) return undefined
  const mark = lines.findIndex(text => /^\s*\^+\s*$/.test(text))
  // Without a mark, the error is at the end of the file.
  if (mark < 1) return { file, line: Number(line), column: (lines[0]?.length ?? 0) + 1 }
  const column = (lines[mark]?.indexOf('^') ?? 0) + 1
  return { file, line: lineOf(file, lines[mark - 1], Number(line)), column }
}

/** The line with the marked text, at or next to the line that Node names. */
function lineOf(file: string, marked: string | undefined, statedLine: number): number {
  const lines = readText(file)?.split(/\r?\n/) ?? []
  const markedLine = [statedLine, statedLine - 1, statedLine + 1].find(line => lines[line - 1] === marked)
  return markedLine ?? statedLine
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Longer lines belong to a message. */
const maxFrameCharacters = 2_000
const frame = /(?:\(|at (?:async )?)((?:file:\/\/)?[^()\s][^()]*?):(\d+):(\d+)\)?$/

/** The places of a stack, innermost first. */
function placesOf(stack: string): readonly SourcePlace[] {
  return stack.split('\n').flatMap(text => {
    const [, location = '', line, column] =
      text.length < maxFrameCharacters && /^\s+at /.test(text) ? (frame.exec(text) ?? []) : []
    const file = pathOf(location)
    return file === undefined ? [] : [{ file, line: Number(line), column: Number(column) }]
  })
}

/** The place at which the importing file names the missing module. */
function importPlace({ message }: Error): SourcePlace | undefined {
  const [, specifier = '', from = ''] =
    /^Cannot find (?:module|package) '(.+?)' imported from (.+)$/m.exec(message) ??
    /^Directory import '(.+?)' is not supported resolving ES modules imported from (.+)$/m.exec(message) ??
    []
  const file = pathOf(from)
  const source = file === undefined ? undefined : readText(file)
  if (file === undefined || source === undefined) return undefined
  const match = [...source.matchAll(/(['"])((?:(?!\1).)+)\1/g)].find(
    ([, , text = '']) => text === specifier || resolve(dirname(file), text) === specifier,
  )
  return match === undefined ? undefined : placeAt(file, source, match.index)
}

function jsonPlace({ message }: Error): SourcePlace | undefined {
  const [, file = '', line, column] = /^(.+?): .*\(line (\d+) column (\d+)\)/.exec(message) ?? []
  if (!modulePath.test(file) || !existsSync(file)) return undefined
  return { file, line: Number(line), column: Number(column) }
}

/** The line and column of an offset. */
export function placeAt(file: string, source: string, offset: number): SourcePlace {
  const before = source.slice(0, offset).split('\n')
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** Undefined if the error names no place in the project. */
export function errorPlace(error: unknown): SourcePlace | undefined {
  if (!(error instanceof Error)) return undefined
  const { stack = '' } = error
  return (
    markedPlace(stack) ??
    importPlace(error) ??
    jsonPlace(error) ??
    placesOf(stack).find(({ file }) => isOwnSource(file))
  )
}

/** The innermost place of a stack that is in the project. */
export function stackPlace(stack: string): SourcePlace | undefined {
  return placesOf(stack).find(({ file }) => isOwnSource(file))
}
