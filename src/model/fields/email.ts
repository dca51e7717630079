import { mailbox } from '../json-schema/patterns.ts'
import { declared, defaultOf, type FieldDeclaration, type FieldOptions, flag } from './declared.ts'
import { storableText, textOr, textual } from './textual.ts'
import type { JsonValue } from './type.ts'

interface EmailOptions extends FieldOptions {
  readonly default?: string
  readonly searchable?: boolean
}

/** The longest path of RFC 5321, 4.5.3.1.3, without its angle brackets. */
const maxLength = 254

const grammar = new RegExp(mailbox)

/** Whether the text is an e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= maxLength && grammar.test(text)
}

function requireAddress(value: JsonValue): string {
  if (typeof value === 'string' && isEmail(value)) return value.toLowerCase()
  throw new RangeError('The value must be an e-mail address, e.g. ada@example.com.')
}

/** Filters may contain part of an address. */
const part = textOr(value => storableText(value).toLowerCase())

const emailType = textual({
  name: 'email',
  schema: { type: 'string', format: 'email', pattern: mailbox, maxLength },
  canonical: requireAddress,
  fromText: part,
})

/** An e-mail address, stored in lower case. */
export function email<const O extends EmailOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({
    type: emailType,
    options,
    checks: { default: defaultOf(), searchable: flag },
  })
}
