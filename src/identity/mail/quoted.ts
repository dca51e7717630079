/**
 * Texts of users in mails of the service. Mail programs must not turn them into links, and they must not look like another
 * part of the mail: otherwise a sign-up with the name "visit evil.example" would send advertising from our address.
 */
import { normalize } from '../../base/unicode.ts'

const maxCharacters = 100
/** The maximum length of the text before characters are removed. */
const maxReadCharacters = 2000

/** Invisible. Mail programs do not recognise hosts, addresses or schemes that contain it. */
const wordJoiner = '\u2060'

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u
const [isolate, endIsolate] = ['\u2068', '\u2069']

/** A single line without control or format characters, of at most 100 characters, that does not become a link. */
export function quoted(text: string): string {
  const line = normalize(text.slice(0, maxReadCharacters), 'NFC')
    .replace(/[\p{Z}\p{Cc}]+/gu, ' ')
    // Includes bidirectional controls and other invisible characters.
    .replace(/[\p{Cf}\p{Co}\p{Cs}\p{Cn}]/gu, '')
    .trim()
  const characters = [...line]
  const bounded =
    characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join('')}…` : line
  const split = bounded.replace(/[.:/@。．｡](?=\S)/gu, sign => sign + wordJoiner)
  return rightToLeft.test(split) ? `${isolate}${split}${endIsolate}` : split
}

function quotedValue(name: string, value: unknown): unknown {
  // Links are ours: they begin with the service's own address.
  if (name === 'link' || name.endsWith('Link')) return value
  if (typeof value === 'string') return quoted(value)
  return Array.isArray(value) ? value.map(element => quotedValue('', element)) : value
}

/** Quotes every text that is not a link, so that values that are added later are safe too. */
export function quotedValues<Values extends object>(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, quotedValue(name, value)]),
  ) as Values
}
