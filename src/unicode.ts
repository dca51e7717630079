/**
 * Unicode normalisation in time that is linear in the text. To put a run of combining marks into canonical order
 * (UAX #15, 1.3) takes `String.prototype.normalize` time that is quadratic in the run, so runs are cut before.
 * The only place that normalises: `test/unicode/unicode.test.ts` holds the sources to it.
 */

/** UAX #15, D3: the most non-starters that stand one after another in Stream-Safe Text Format. */
const maxNonStarters = 30

/** U+034F COMBINING GRAPHEME JOINER, a starter that is not to be seen (UAX #15, D4). */
const joiner = '\u034F'

/** No other character is, or is decomposed into, non-starters alone. */
const mark = String.raw`[\p{M}\uFF9E\uFF9F]`
/**
 * Shorter runs are stream-safe: no mark is decomposed into more than two non-starters, and no other character ends
 * with more than five.
 */
const shortestRun = Math.floor((maxNonStarters - 5) / 2)
const longRun = new RegExp(`(?:(?!${mark}).)?${mark}{${shortestRun},}`, 'gsu')

/** U+0345 has the highest combining class, so every other non-starter moves before it, and no starter does. */
const last = '\u0345'

function isNonStarter(character: string): boolean {
  return character === last || `${last}${character}`.normalize('NFD') !== `${last}${character}`
}

/** How many non-starters a character's compatibility decomposition begins and ends with. */
interface Ends {
  readonly leading: number
  readonly trailing: number
  /** There is no starter between them. */
  readonly whole: boolean
}

function measure(character: string): Ends {
  const decomposed = [...character.normalize('NFKD')].map(isNonStarter)
  const leading = decomposed.indexOf(false)
  if (leading === -1) return { leading: decomposed.length, trailing: decomposed.length, whole: true }
  return { leading, trailing: decomposed.length - 1 - decomposed.lastIndexOf(false), whole: false }
}

/** By character, of the marks that were in long runs. There are about 2,500. */
const known = new Map<string, Ends>()

function endsOf(character: string): Ends {
  const ends = known.get(character) ?? measure(character)
  known.set(character, ends)
  return ends
}

/** `characters`: marks, and before them perhaps something else. */
function cut(characters: string): string {
  let safe = ''
  let run = 0
  for (const character of characters) {
    const { leading, trailing, whole } = safe === '' ? measure(character) : endsOf(character)
    if (run + leading > maxNonStarters) {
      safe += joiner
      run = 0
    }
    safe += character
    run = whole ? run + leading : trailing
  }
  return safe
}

/**
 * The text in Stream-Safe Text Format (UAX #15, 13): a joiner stands wherever more than 30 non-starters would follow
 * one another. Text in which there is no such run, which is all that people write, stays as it is.
 */
export function streamSafe(text: string): string {
  return text.replace(longRun, cut)
}

/** A normalisation form of a text (UAX #15), after its long runs of combining marks were cut. */
export function normalize(text: string, form: 'NFC' | 'NFKD'): string {
  return streamSafe(text).normalize(form)
}

/** Whether the text has more characters (Unicode code points). Of a far longer one they are not counted. */
export function isLongerThan(text: string, characters: number): boolean {
  if (text.length <= characters) return false
  return text.length > 2 * characters || [...text].length > characters
}
