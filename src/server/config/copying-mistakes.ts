/** Mistakes of copying a value into a setting, which would otherwise become part of a file's name or of a URL. */

const quotes = /^["'`“‘«]|["'`”’»]$/
const placeholder = /\$\{[^}]*\}|\$\([^)]*\)|\{\{[^}]*\}\}|^\$\w+$|^%\w+%$|^<[^>]*>$/

/** Throws a `RangeError` that says what the value should not contain. It never repeats the value, which may be secret. */
export function refuseCopyingMistakes(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
  if (/[\u0000-\u001f\u007f\ufeff]/.test(text))
    throw new RangeError('contains a line break or another control character: remove it')
  if (text !== text.trim()) throw new RangeError('begins or ends with a space: remove it')
  if (quotes.test(text))
    throw new RangeError('begins or ends with a quotation mark, which is part of the value here: remove it')
  const [reference] = placeholder.exec(text) ?? []
  if (reference !== undefined) {
    const name = /^\W*(\w{1,50})/.exec(reference)?.[1] ?? ''
    throw new RangeError(
      `contains a placeholder${name && ` for ${name}`}, which nothing has replaced: write the value itself`,
    )
  }
  const [, variable] = /^(?:export\s+)?([A-Z][A-Z0-9_]+)\s*=/.exec(text) ?? []
  if (variable !== undefined) throw new RangeError(`begins with \`${variable}=\`: write only what follows it`)
  const [, command] = /^([a-z][a-z-]*)\s.*:\/\//s.exec(text) ?? []
  if (command !== undefined) throw new RangeError(`begins with \`${command} \`: write only the URL`)
}

/** A URL with an authority and one of the protocols; undefined: the text is none. Throws a `RangeError` as `refuseCopyingMistakes`. */
export function urlWithHost(text: string, protocols: readonly string[]): URL | undefined {
  refuseCopyingMistakes(text)
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*:)\/\/[^/]/i.exec(text) ?? []
  if (!protocols.includes(scheme.toLowerCase()) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return isHost(url.hostname) ? url : undefined
}

/** A host as `URL` gives it. `URL` alone accepts quotation marks, braces and commas in names. */
export function isHost(hostname: string): boolean {
  return /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/i.test(hostname)
}
