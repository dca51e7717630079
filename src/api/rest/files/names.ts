/** The names of files, as clients send them. */
import { normalize } from '../../../base/unicode.ts'
import { maxNameBytes } from '../../../model/fields/file.ts'

/** What has no place in a line, and what changes the order of the characters around it. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The last part of a path, without what file systems and terminals treat in another way. Never empty. */
export function fileName(sent: string): string {
  const last = normalize(sent.toWellFormed(), 'NFC').split(/[/\\]/).at(-1) ?? ''
  const name = withinBytes(withoutEdges(last.replace(hidden, '')))
  return name === '' ? 'file' : name
}

/** Without dots and spaces at both ends. An expression would take quadratic time for a run of them in the middle. */
function withoutEdges(text: string): string {
  const isEdge = (index: number) => text[index] === '.' || text[index] === ' '
  let [start, end] = [0, text.length]
  while (start < end && isEdge(start)) start++
  while (end > start && isEdge(end - 1)) end--
  return text.slice(start, end)
}

/** Cuts the middle part of a name that is too long, and keeps its ending. */
function withinBytes(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const ending = /\.[A-Za-z0-9]{1,16}$/.exec(name)?.[0] ?? ''
  let stem = name.slice(0, Math.min(name.length - ending.length, maxNameBytes)).toWellFormed()
  while (Buffer.byteLength(stem) > maxNameBytes - ending.length) stem = [...stem].slice(0, -1).join('')
  return stem + ending
}

/** `Content-Disposition` (RFC 6266), with the name in ASCII, and exactly by RFC 8187. */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
