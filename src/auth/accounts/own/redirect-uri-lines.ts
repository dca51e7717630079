/** Redirect URIs in a form, one per line, and the exact fault of each. */
import { inWords, redirection } from '../../../model/json-schema/patterns.ts'

export interface Line {
  readonly uri: string
  /** From 1. */
  readonly number: number
}

const maxCharacters = 2048
const maxFaults = 10
const shownCharacters = 100
const allowed = new RegExp(redirection)

/** The lines of the text without empty ones. */
export function linesOf(text: string): readonly Line[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, at) => ({ uri: line.trim(), number: at + 1 }))
    .filter(({ uri }) => uri !== '')
}

type Check = readonly [isFaulty: (uri: string) => boolean, message: string]

const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/

/** In this order: the first that applies is the most specific. */
const reasons: readonly Check[] = [
  [uri => uri.length > maxCharacters, `is longer than ${maxCharacters} characters.`],
  [uri => /\s/.test(uri), 'has a space in it: write one address on each line.'],
  [uri => uri.includes('#'), 'has a fragment: leave out # and what follows it.'],
  [
    uri => !scheme.test(uri),
    'does not say how it begins: write the whole address, e.g. https://app.example.com/callback.',
  ],
  [
    uri => /^https?:\/\/[^/?]*@/i.test(uri),
    'has a user name in it, which is never sent to the app: leave it out.',
  ],
  [
    uri => /^https?:\/\/[^/?]*[A-Z]/i.test(uri) && /^[^/]*\/\/[^/?]*[A-Z]|^[^:]*[A-Z]/.test(uri),
    'has capital letters before the path: use lower case, since addresses are compared character by character.',
  ],
  [
    uri => /^http:/.test(uri) && !/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?]|$)/.test(uri),
    'begins with http, which others can read: use https. http is for localhost, 127.0.0.1 and [::1] alone.',
  ],
  [
    uri => !/^https?:/.test(uri) && !/^[^:]*\./.test(uri),
    'has a scheme without a dot: an app uses its domain in reverse order, e.g. com.example.app:/callback.',
  ],
]

const general = `must ${inWords.get(redirection) ?? 'be an address'}.`

function reasonFor(uri: string): string | undefined {
  if (uri.length <= maxCharacters && allowed.test(uri)) {
    // It matches the pattern but is not a valid URL, e.g. with the host 1.2.3.999.
    return URL.canParse(uri) ? undefined : 'is not a valid address.'
  }
  return reasons.find(([isFaulty]) => isFaulty(uri))?.[1] ?? general
}

/** A line for each faulty URI, at most ten; undefined if there is none. */
export function lineFaults(lines: readonly Line[]): string | undefined {
  const seen = new Map<string, number>()
  const faults: string[] = []
  for (const { uri, number } of lines) {
    const same = seen.get(uri)
    const reason = same === undefined ? reasonFor(uri) : `is the same as line ${same}: leave one out.`
    if (same === undefined) seen.set(uri, number)
    if (reason !== undefined) faults.push(`Line ${number}: “${uri.slice(0, shownCharacters)}” ${reason}`)
    if (faults.length === maxFaults) break
  }
  return faults.length === 0 ? undefined : faults.join('\n')
}
