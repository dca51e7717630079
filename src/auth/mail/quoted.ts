/**
 * Text that a user chose, inside a mail that we sign. A mail program must not make a link of it, and it must not look like
 * another part of the mail: a sign-up as "visit evil.example" would otherwise send advertising from our address.
 */
import { normalize } from '../../unicode.ts'

const maxCharacters = 100
/** With those that are dropped. */
const maxReadCharacters = 2000

/** Invisible. No mail program takes what it splits for a host, an address or a scheme. */
const wordJoiner = '\u2060'

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u
const [isolate, endIsolate] = ['\u2068', '\u2069']

/** One line without controls or format characters, at most 100 characters, of which no link can be made. */
export function quoted(text: string): string {
  const line = normalize(text.slice(0, maxReadCharacters), 'NFC')
    .replace(/[\p{Z}\p{Cc}]+/gu, ' ')
    // Also bidirectional controls, and whatever else is not seen.
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
  return Array.isArray(value) ? value.map(each => quotedValue('', each)) : value
}

/** The values with every text quoted that is no link, so that a value added later is safe too. */
export function quotedValues<Values extends object>(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, quotedValue(name, value)]),
  ) as Values
}
