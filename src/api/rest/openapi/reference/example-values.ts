/**
 * Example values by the names of fields: an address for `email`, an amount for `price`, a time a week after a fixed one for
 * `due_at`. The same name always gets the same value.
 */
import type { JsonSchema, JsonValue } from '../../../../model/fields/type.ts'

export interface NamedValue {
  /** Of the field; of an array's items, the array's name. */
  readonly name: string
  /** What it belongs to, e.g. `User` or `PostCreate`. */
  readonly owner: string
}

/** The value for names that match. */
type NameRule = readonly [pattern: RegExp, value: JsonValue]

/** The time to which all others are relative. */
const presentMs = Date.UTC(2026, 2, 16, 9, 30)
const dayMs = 86_400_000

const people = /user|member|person|people|customer|author|contact|employee|patient|student|guest|owner/i
const firms = /compan|organi[sz]ation|team|tenant|vendor|supplier|account|client/i

const names: readonly NameRule[] = [
  [people, 'Ada Lovelace'],
  [firms, 'Analytical Engines'],
  [/project/i, 'Website relaunch'],
  [/label|tag/i, 'urgent'],
  [/categor|topic|genre/i, 'Engineering'],
  [/product|item|article/i, 'Field notebook'],
  [/webhook|hook/i, 'Deploy notifications'],
  [/key/i, 'Nightly export'],
  [/app/i, 'Reading list'],
  [/event|meeting|session/i, 'Design review'],
  [/place|venue|room|location/i, 'Reading room'],
]

/** For text fields, by name. The first match counts. */
const texts: readonly NameRule[] = [
  [/^(e_?mail|.*_e?mail)$/, 'ada@example.com'],
  [/first_?name|given_?name/, 'Ada'],
  [/last_?name|family_?name|surname/, 'Lovelace'],
  [/user_?name|login|handle|nickname/, 'ada'],
  [/title|subject|headline|question/, 'Notes on the first release'],
  [/slug|permalink/, 'notes-on-the-first-release'],
  [/(avatar|image|photo|picture|logo|icon|thumbnail)/, 'https://example.com/images/ada.png'],
  [/(redirect|callback).*ur[il]/, 'https://app.example.com/callback'],
  [/ur[il]s?$|link|website|homepage/, 'https://example.com/notes'],
  [/phone|mobile|fax/, '+44 20 7946 0958'],
  [/street|address/, '12 St James’s Square'],
  [/city|town/, 'London'],
  [/zip|post_?code|postal/, 'SW1Y 4LB'],
  [/country/, 'GB'],
  [/currency/, 'EUR'],
  [/locale|language|lang$/, 'en'],
  [/time_?zone/, 'Europe/London'],
  [/colou?r/, '#1f5fbf'],
  [/password|secret/, 'correct horse battery'],
  [/(^|_)ip(_|$)/, '203.0.113.7'],
  [/sku|code|number|reference/, 'A-1042'],
  [/version/, '1.4.0'],
  [/type|kind/, 'standard'],
  [/status|state/, 'open'],
  [/^role$/, 'user'],
  [/company|organi[sz]ation/, 'Analytical Engines'],
  [/next_cursor|cursor/, 'eyJpZCI6MjB9'],
  [/comment|message|reason|note|why|remark/, 'Looks good to me.'],
  [/body|content|text|description|summary|bio|about|details/, 'What changed, why, and what comes next.'],
  [/label|tag|topic|keyword/, 'urgent'],
  [/author|owner|contact|person/, 'Ada Lovelace'],
]

/** For number fields, by name. */
const numbers: readonly NameRule[] = [
  [/(cents|pence|minor)/, 1990],
  [/price|amount|total_?(price|cost)|cost|fee|budget|salary|balance/, 19.9],
  [/latitude|^lat$/, 51.5072],
  [/longitude|^(lng|lon)$/, -0.1276],
  [/year/, 2026],
  [/(^|_)age$/, 36],
  [/percent|share|progress/, 40],
  [/rating|stars|score/, 4],
  [/minutes|duration/, 45],
  [/seconds|timeout/, 30],
  [/bytes|size/, 52_480],
  [/weight|height|width|length|distance/, 12.5],
  [/quantity|count|stock|seats|points|estimate|hours|days/, 3],
  [/per_page/, 20],
  [/status$/, 200],
]

/** For schemas whose `pattern` no other value matches. */
const plainTexts = [
  '42',
  '1.0',
  'example',
  'Example',
  'a',
  'A',
  'AB',
  'ab-1',
  'A-1042',
  '2026-03-16',
  '#1f5fbf',
]

const closedStates =
  /archived|deleted|done|closed|completed|hidden|locked|cancel|disabled|revoked|private|draft|estimate|has_more/

/** Days from now, derived from the name. */
function daysAway(name: string): number {
  if (/due|ends?_|deadline|expire|until|sunset|scheduled|starts?_|next/.test(name)) return 7
  if (/updated|changed|modified|last_|closed|done|completed|published/.test(name)) return 1
  return /birth/.test(name) ? -13_262 : 0
}

/** A value of a `format` of JSON Schema, as the service writes it; undefined for other formats. */
function formatted(format: JsonValue | undefined, name: string): JsonValue | undefined {
  const time = new Date(presentMs + daysAway(name) * dayMs).toISOString()
  if (format === 'date-time') return time
  if (format === 'date') return time.slice(0, 10)
  if (format === 'time') return '09:30:00'
  if (format === 'email') return 'ada@example.com'
  if (format === 'uuid') return '3f2c8a1e-5b7d-4c90-9e61-0a4d2b8f6c13'
  if (format === 'duration') return 'PT45M'
  return undefined
}

function textOf({ name, owner }: NamedValue): JsonValue {
  if (name === 'name' || name === 'display_name' || name === 'full_name') {
    return names.find(([pattern]) => pattern.test(owner))?.[1] ?? 'First example'
  }
  return texts.find(([pattern]) => pattern.test(name))?.[1] ?? name.replaceAll('_', ' ')
}

function textFits(text: string, { minLength, maxLength, pattern }: JsonSchema): boolean {
  if (typeof minLength === 'number' && text.length < minLength) return false
  if (typeof maxLength === 'number' && text.length > maxLength) return false
  try {
    return typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text)
  } catch {
    return false
  }
}

function exampleText(named: NamedValue, schema: JsonSchema): JsonValue | undefined {
  const text = formatted(schema['format'], named.name) ?? textOf(named)
  if (textFits(String(text), schema)) return text
  const { minLength, maxLength } = schema
  const min = typeof minLength === 'number' ? minLength : 1
  const max = typeof maxLength === 'number' ? maxLength : min + 40
  const fitted = String(text).padEnd(Math.min(min, 200), ' and so on').slice(0, max).trim()
  return [fitted, ...plainTexts].find(candidate => textFits(candidate, schema))
}

function exampleNumber({ name }: NamedValue, schema: JsonSchema): number {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
  const number = Number(numbers.find(([pattern]) => pattern.test(name))?.[1] ?? 1)
  const rounded = [schema['type']].flat().includes('integer') ? Math.round(number) : number
  return Math.min(Math.max(rounded, Number(minimum)), Number(maximum))
}

/** A value that fits the schema of a text, a number or a boolean; undefined if none is found. */
export function exampleValue(named: NamedValue, schema: JsonSchema): JsonValue | undefined {
  const types = [schema['type']].flat()
  // The example is an item in use, not a closed or deleted one.
  if (types.includes('null') && closedStates.test(named.name)) return null
  if (types.includes('string')) return exampleText(named, schema)
  if (types.includes('integer') || types.includes('number')) return exampleNumber(named, schema)
  if (types.includes('boolean')) return !closedStates.test(named.name)
  return types.includes('null') ? null : undefined
}
