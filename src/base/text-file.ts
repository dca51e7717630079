/** Text files that people write: UTF-8, with or without a byte order mark, as editors on Windows save them. */
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/** A predicate whose subject is the file. */
export class TextEncodingError extends Error {
  override readonly name = 'TextEncodingError'
}

const mark = '\ufeff'

/** Whether the beginning of a file is in UTF-16. No text contains U+0000, which UTF-16 has next to each character of ASCII. */
export function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0)
}

export function withoutMark(text: string): string {
  return text.startsWith(mark) ? text.slice(mark.length) : text
}

/** The text of a file. Throws a `TextEncodingError`, or the error of the file system. */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path)
  if (isUtf16(bytes)) throw new TextEncodingError('is in UTF-16: save it as UTF-8')
  if (!isUtf8(bytes)) throw new TextEncodingError('is not in UTF-8: save it as UTF-8')
  return withoutMark(bytes.toString('utf8'))
}
