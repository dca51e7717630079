/** Redirect URIs in a form, one per line, and the exact fault of each. */
import { patternMessages, redirectUriPattern } from '../../../model/json-schema/patterns.ts'

export interface Line {
  readonly uri: string
  /** From 1. */
  readonly number: number
}

const maxCharacters = 2048
const maxFaults = 10
const shownCharacters = 100
const allowed = new RegExp(redirectUriPattern)

/** The lines of the text without empty ones. */
export function linesOf(text: string): readonly Line[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, index) => ({ uri: line.trim(), number: index + 1 }))
    .filter(({ uri }) => uri !== '')
}

type Check = readonly [isFaulty: (uri: string) => boolean, message: string]

const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/

/** The most specific check comes first. */
const checks: readonly Check[] = [
  [uri => uri.length > maxCharacters, `is longer than ${maxCharacters} characters.`],
  [uri => /\s/.test(uri), 'contains a space: write one address on each line.'],
  [uri => uri.includes('#'), 'has a fragment: remove # and everything after it.'],
  [
    uri => !scheme.test(uri),
    'has no scheme: write the whole address, e.g. https://app.example.com/callback.',
  ],
  [
    uri => /^https?:\/\/[^/?]*@/i.test(uri),
    'contains a user name, which is never sent to the app: remove it.',
  ],
  [
    uri => /^https?:\/\/[^/?]*[A-Z]/i.test(uri) && /^[^/]*\/\/[^/?]*[A-Z]|^[^:]*[A-Z]/.test(uri),
    'has capital letters before the path: use lower case, because addresses are compared character by character.',
  ],
  [
    uri => /^http:/.test(uri) && !/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?]|$)/.test(uri),
    'begins with http, which others can read: use https. http is allowed only for localhost, 127.0.0.1 and [::1].',
  ],
  [
    uri => !/^https?:/.test(uri) && !/^[^:]*\./.test(uri),
    'has a scheme without a dot: an app uses its domain in reverse order, e.g. com.example.app:/callback.',
  ],
]

const general = `must ${patternMessages.get(redirectUriPattern) ?? 'be an address'}.`

function reasonFor(uri: string): string | undefined {
  if (uri.length <= maxCharacters && allowed.test(uri)) {
    // It matches the pattern but is not a valid URL, e.g. with the host 1.2.3.999.
    return URL.canParse(uri) ? undefined : 'is not a valid address.'
  }
  return checks.find(([isFaulty]) => isFaulty(uri))?.[1] ?? general
}

/** A line for each faulty URI, at most ten; undefined if there is none. */
export function lineFaults(lines: readonly Line[]): string | undefined {
  const firstLines = new Map<string, number>()
  const faults: string[] = []
  for (const { uri, number } of lines) {
    const firstLine = firstLines.get(uri)
    const reason =
      firstLine === undefined ? reasonFor(uri) : `is the same as line ${firstLine}: remove one of them.`
    if (firstLine === undefined) firstLines.set(uri, number)
    if (reason !== undefined) faults.push(`Line ${number}: “${uri.slice(0, shownCharacters)}” ${reason}`)
    if (faults.length === maxFaults) break
  }
  return faults.length === 0 ? undefined : faults.join('\n')
}
