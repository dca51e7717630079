/** The media type of a file by its content. What a client says of it is not trusted. */
import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'
import { fileTypeFromBuffer } from 'file-type'

/** How much of a file is looked at. */
export const sniffedBytes = 65_536

/** Texts that no browser runs, by the ending of the name. */
const texts: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.json': 'application/json',
  '.md': 'text/markdown',
}

/** What browsers run, or what may contain it, whatever a signature says. */
const active =
  /^(?:text\/(?!plain|csv|calendar|vcard)|image\/svg|application\/(?:xhtml|xml|javascript|wasm|x-shockwave-flash)|.*\+xml$)/

const unknown = 'application/octet-stream'

/** `start`: its first bytes; `isWhole`: whether these are all. */
export async function contentType(start: Buffer, name: string, isWhole: boolean): Promise<string> {
  const found = await fileTypeFromBuffer(start).catch(() => undefined)
  if (found !== undefined) return active.test(found.mime) ? unknown : found.mime
  if (!isText(isWhole ? start : withoutPartialCharacter(start))) return unknown
  return texts[extname(name).toLowerCase()] ?? 'text/plain'
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

/** Without the bytes of a last character whose end is missing. */
function withoutPartialCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - back)
    if (byte < 0x80) break
  }
  return bytes
}
