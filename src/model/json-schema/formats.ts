/** The string formats that Portico validates itself: a valid value must also have a canonical form. */
import { isDate } from '../fields/date.ts'
import { utcOf } from '../fields/datetime.ts'
import { isEmail } from '../fields/email.ts'
import { isUrl } from '../fields/url.ts'
import { isUuid } from '../fields/uuid.ts'

interface Format {
  has(text: string): boolean
  /** A valid value in words, which follow "must be". */
  readonly sentence: string
}

const webAddress: Format = { has: isUrl, sentence: 'an http or https URL, e.g. https://example.com/page' }

/** By the name that JSON Schema gives them (2020-12 validation, 7.3). */
export const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  [
    'date-time',
    {
      has: text => utcOf(text) !== undefined,
      sentence: 'a date and time with its zone, e.g. 2026-01-31T12:00:00Z',
    },
  ],
  ['date', { has: isDate, sentence: 'a date that exists, as YYYY-MM-DD' }],
  ['email', { has: isEmail, sentence: 'an e-mail address, e.g. ada@example.com' }],
  ['uuid', { has: isUuid, sentence: 'a UUID, e.g. 0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d10' }],
  ['uri', webAddress],
  // Not a format of JSON Schema. The one of ajv-formats takes quadratic time.
  ['url', webAddress],
])
