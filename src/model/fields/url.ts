import { webUrl } from '../json-schema/patterns.ts'
import {
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  flag,
  naturalNumber,
} from './declared.ts'
import { storableText, textOr, textual } from './textual.ts'
import type { JsonValue } from './type.ts'

interface UrlOptions extends FieldOptions {
  readonly default?: string
  /** The maximum number of characters. Default: 2048. */
  readonly max?: number
  readonly searchable?: boolean
}

const defaultMax = 2048

const grammar = new RegExp(webUrl)

/**
 * The longest authority (RFC 3986, 3.2). `URL` decodes and normalises it in time that is quadratic in its combining marks; a
 * host name has at most 253 characters (RFC 1035, 2.3.4).
 */
const authority = /^https?:\/\/[^/?#]{1,1000}(?:[/?#]|$)/i

/** Whether the text is an absolute http or https URL. */
export function isUrl(text: string): boolean {
  return authority.test(text) && grammar.test(text) && URL.canParse(text)
}

function absolute(value: JsonValue): string {
  if (typeof value === 'string' && isUrl(value)) return value
  throw new RangeError('The value must be an http or https URL, e.g. https://example.com/page.')
}

/** An absolute http or https URL, stored as written. */
export function url<const O extends UrlOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({
    type: textual({
      name: 'url',
      schema: {
        type: 'string',
        format: 'uri',
        pattern: webUrl,
        maxLength: options?.max ?? defaultMax,
      },
      canonical: absolute,
      fromText: textOr(storableText),
    }),
    options,
    checks: { default: defaultOf(), max: naturalNumber, searchable: flag },
  })
}
