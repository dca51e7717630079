/** Names of apps. Users recognise apps by their names when they grant access to their data. */
import { ApiError } from '../../../base/errors.ts'
import { normalize } from '../../../base/unicode.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { invisibleCharacters } from '../../../model/json-schema/patterns.ts'
import { latinOf } from './lookalikes.ts'

/** The skeleton of a text, by which similar texts are equal: no case, accents, spaces or punctuation; one alphabet. */
function skeleton(text: string): string {
  const letters = normalize(text, 'NFKD').replace(/[\p{M}\p{C}\p{Z}\p{P}]/gu, '')
  const latin = [...letters].map(latinOf).join('')
  return latin.replace(/\p{S}/gu, '').replaceAll('rn', 'm').replaceAll('vv', 'w')
}

/** The skeletons of the words of a name. `S e c u r i t y` is one word, and `AcmeTeam` is two. */
function wordsOf(name: string): readonly string[] {
  const words: string[] = []
  const parts = normalize(name, 'NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
    .split(/[\p{C}\p{Z}\p{P}]+/u)
  let wasLetter = false
  for (const word of parts.map(skeleton).filter(part => part !== '')) {
    const isLetter = word.length === 1
    if (isLetter && wasLetter) words.push(`${words.pop() ?? ''}${word}`)
    else words.push(word)
    wasLetter = isLetter
  }
  return words
}

function skeletons(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).filter(Boolean).map(skeleton))
}

/** With the service's name, or without any, these pretend to speak for the service. In English and German. */
const authorityWords = skeletons(`
  account accounts admin administration administrator administrators auth authentication authenticator billing compliance
  helpdesk identity login logon moderation moderator moderators official password passwords payment payments recovery security
  secure signin signon staff sso support team trust verification verified verify
  abrechnung anmeldung kennwort konto konten kundendienst kundenservice offiziell offizielle offizieller offizielles passwort
  sicherheit sicherheitsteam verwaltung zahlung zahlungen`)

/** These add nothing: a name of only these and the service's is the service's. */
const fillers = skeletons(`
  a alert alerts an and api app application apps at by care center centre com customer de desk desktop for from gmbh help id inc
  io ios android llc ltd me mobile my net new notice notification notifications of on online org our platform safety service
  services system systems the to update updates web website your und von der die das dein ihr unser dienst hilfe`)

const onlyOfficial = new RegExp(`^(?:${[...authorityWords, ...fillers].join('|')})*$`)

/** Shorter names occur in other words: they are found as words only. */
const minInnerCharacters = 4

/** Whether users would take an app of this name for the service, or for a part of it. */
function poses(name: string, serviceName: string): boolean {
  const reserved = skeleton(serviceName)
  const words = wordsOf(name)
  const joined = skeleton(name)
  const others = joined.replaceAll(reserved, '')
  if (reserved !== '' && joined === reserved) return true
  const isNamed =
    reserved !== '' &&
    (reserved.length < minInnerCharacters ? words.includes(reserved) : joined.includes(reserved))
  const own = new Set(wordsOf(serviceName))
  const claims = words.some(word => authorityWords.has(word) && !own.has(word))
  if (isNamed) return claims || onlyOfficial.test(others)
  return claims && words.every(word => authorityWords.has(word) || fillers.has(word))
}

function refuse(message: string): never {
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'name', code: 'not_allowed', message }],
  })
}

/** More combining marks than any script needs: stacked, they cover the lines above. */
const stackedMarks = /\p{M}{5}/u

/** Tag characters and variation selectors, which are invisible, except in the flags of regions. */
const tags = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0000}-\u{e0fff}]/u

/**
 * Throws VALIDATION_FAILED if a name looks like the service's own or speaks for it, contains invisible characters, or begins or ends with
 * a space. `name`: at most 100 characters.
 */
export function requireName(name: JsonValue | undefined, serviceName: string): void {
  if (typeof name !== 'string') return
  if (name.trim() !== name || name === '')
    refuse('The name must not be empty, nor begin or end with a space.')
  if (stackedMarks.test(name) || tags.test(name))
    refuse('The name must not contain invisible characters, nor more than four marks on one letter.')
  if (!poses(name, serviceName)) return
  refuse(
    `The name must not resemble that of this service, ${serviceName}, nor speak for it, as \`security\` and \`support\` do: users would mistake the app for it.`,
  )
}

/** A name as pages show it, whoever stored it: without invisible characters. */
export function shownName(name: string): string {
  return name.replace(invisibleCharacters, '').trim()
}
