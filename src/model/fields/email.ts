import { domainToASCII } from 'node:url'
import { mailbox, writtenMailbox } from '../json-schema/patterns.ts'
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

/**
 * The form in which addresses are stored and compared: in lower case, with an international domain in ASCII (RFC 5890, 2.3.2.1).
 * Any other text is returned in lower case. Only ASCII is lowered: U+212A KELVIN SIGN would become `k`, another address.
 */
export function canonicalEmail(text: string): string {
  const lowered = text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
  const domain = lowered.slice(lowered.lastIndexOf('@') + 1)
  if (domain.length === lowered.length || domain.length > maxLength || /^[\0-\x7f]*$/.test(domain))
    return lowered
  return lowered.slice(0, -domain.length) + (domainToASCII(domain) || domain)
}

/** Whether the text is an e-mail address, as people write it. */
export function isEmail(text: string): boolean {
  if (text.length > maxLength) return false
  const canonical = canonicalEmail(text)
  return canonical.length <= maxLength && grammar.test(canonical)
}

function requireAddress(value: JsonValue): string {
  if (typeof value === 'string' && isEmail(value)) return canonicalEmail(value)
  throw new RangeError('The value must be an e-mail address, e.g. ada@example.com.')
}

const emailType = {
  ...textual({
    name: 'email',
    schema: { type: 'string', format: 'email', pattern: writtenMailbox, maxLength },
    canonical: requireAddress,
    // Filters may contain part of an address.
    fromText: textOr(value => canonicalEmail(storableText(value))),
  }),
  fromPart: canonicalEmail,
}

/** An e-mail address, stored in lower case, with its domain in ASCII. */
export function email<const O extends EmailOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({
    type: emailType,
    options,
    checks: { default: defaultOf(), searchable: flag },
  })
}
