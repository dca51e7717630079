/** The choice of a mail's language. */

const maxHeaderCharacters = 1000
const maxRanges = 20

interface LanguageRange {
  readonly tag: string
  readonly quality: number
}

/** RFC 9110, 12.5.4 and 12.4.2. */
const rangePattern =
  /^\s*([a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}|\*)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i

/** The language ranges of a header, the preferred one first. Malformed and unacceptable ranges are omitted. */
function rangesOf(header: string): readonly LanguageRange[] {
  const ranges = header
    .slice(0, maxHeaderCharacters)
    .split(',', maxRanges)
    .flatMap(part => {
      const [, tag, quality = '1'] = rangePattern.exec(part) ?? []
      return tag === undefined || Number(quality) === 0 ? [] : [{ tag, quality: Number(quality) }]
    })
  return ranges.sort((a, b) => b.quality - a.quality)
}

/** The tag without its last subtag; undefined if it has only one. RFC 4647 also removes a single letter at the end; no valid tag ends in one. */
function shortened(tag: string): string | undefined {
  const parts = tag.split('-').slice(0, -1)
  return parts.length === 0 ? undefined : parts.join('-')
}

/** RFC 4647, 3.4, lookup: the tag itself, or its longest available prefix. */
export function lookup(tag: string, available: readonly string[]): string | undefined {
  for (let prefix: string | undefined = tag; prefix !== undefined; prefix = shortened(prefix)) {
    const lowerCase = prefix.toLowerCase()
    const match = available.find(candidate => candidate.toLowerCase() === lowerCase)
    if (match !== undefined) return match
  }
  return undefined
}

/** The available language that `Accept-Language` prefers; undefined if it names none of them. */
export function acceptedLanguage(
  header: string | undefined,
  available: readonly string[],
): string | undefined {
  for (const { tag } of rangesOf(header ?? '')) {
    const match = lookup(tag, available)
    if (match !== undefined) return match
  }
  return undefined
}
