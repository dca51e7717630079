/**
 * Unicode normalisation in linear time. `String.prototype.normalize` takes quadratic time to put a run of combining
 * marks into canonical order (UAX #15, 1.3), so long runs are split first. No other file may normalise:
 * `test/base/unicode/unicode.test.ts` checks that.
 */

/** The maximum length of a run in Stream-Safe Text Format (UAX #15, D3). */
const maxNonStarters = 30

/** U+034F COMBINING GRAPHEME JOINER, an invisible starter (UAX #15, D4). */
const joiner = '\u034F'

/** Only these characters are non-starters, or decompose into nothing but non-starters. */
const mark = String.raw`[\p{M}\uFF9E\uFF9F]`
/**
 * Shorter runs are stream-safe: no mark decomposes into more than two non-starters, and no other character's
 * decomposition ends with more than five.
 */
const shortestRun = Math.floor((maxNonStarters - 5) / 2)
const longRun = new RegExp(`(?:(?!${mark}).)?${mark}{${shortestRun},}`, 'gsu')

/** U+0345 has the highest combining class, so every other non-starter moves before it, and no starter does. */
const highestNonStarter = '\u0345'

function isNonStarter(character: string): boolean {
  if (character === highestNonStarter) return true
  const text = highestNonStarter + character
  return text.normalize('NFD') !== text
}

/** How many non-starters a character's compatibility decomposition begins and ends with. */
interface EdgeCounts {
  readonly leading: number
  readonly trailing: number
  /** Whether the decomposition has no starter. */
  readonly isWhollyNonStarters: boolean
}

function measure(character: string): EdgeCounts {
  const decomposed = [...character.normalize('NFKD')].map(isNonStarter)
  const leading = decomposed.indexOf(false)
  if (leading === -1)
    return { leading: decomposed.length, trailing: decomposed.length, isWhollyNonStarters: true }
  return {
    leading,
    trailing: decomposed.length - 1 - decomposed.lastIndexOf(false),
    isWhollyNonStarters: false,
  }
}

/** By character. Unicode has about 2,500 marks, so it stays small. */
const cachedCounts = new Map<string, EdgeCounts>()

function edgeCountsOf(character: string): EdgeCounts {
  const counts = cachedCounts.get(character) ?? measure(character)
  cachedCounts.set(character, counts)
  return counts
}

/** Splits a long run. `characters`: marks, perhaps after another character. */
function splitRun(characters: string): string {
  let safe = ''
  let run = 0
  for (const character of characters) {
    const { leading, trailing, isWhollyNonStarters } =
      safe === '' ? measure(character) : edgeCountsOf(character)
    if (run + leading > maxNonStarters) {
      safe += joiner
      run = 0
    }
    safe += character
    run = isWhollyNonStarters ? run + leading : trailing
  }
  return safe
}

/**
 * The text in Stream-Safe Text Format (UAX #15, 13): a joiner splits every run of more than 30 non-starters. Text
 * without such a run, as people write it, is returned unchanged.
 */
export function streamSafe(text: string): string {
  return text.replace(longRun, splitRun)
}

/** A normalisation form (UAX #15) of the text, whose long runs of combining marks are split first. */
export function normalize(text: string, form: 'NFC' | 'NFKD'): string {
  return streamSafe(text).normalize(form)
}

/** The order of texts by code units, as `sort` without a function has it. */
export function compareCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Whether the text has more than `characters` Unicode code points. Those of much longer texts are not counted. */
export function isLongerThan(text: string, characters: number): boolean {
  if (text.length <= characters) return false
  return text.length > 2 * characters || [...text].length > characters
}
