/** Kinds of settings for pages and mail. */
import type { Kind } from './kinds.ts'

/** A kind that accepts the same text in a variable and in a config file. */
function textKind(expected: string, parse: (text: string) => string | undefined): Kind<string> {
  return {
    expected,
    fromText: parse,
    fromValue: value => (typeof value === 'string' ? parse(value) : undefined),
  }
}

export const colour = textKind('a colour such as `#1f5fbf`', text =>
  /^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined,
)

function canonicalTag(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0]
  } catch {
    return undefined
  }
}

export const language = textKind('a language tag such as `en` or `pt-BR` (BCP 47)', canonicalTag)

function urlOf(text: string, protocols: readonly string[]): string | undefined {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined
}

export const webImage = textKind('the address of an image, beginning with `https://` or `http://`', text =>
  urlOf(text, ['https:', 'http:']),
)

export const smtp = textKind(
  'the address of a mail server such as `smtps://user:password@mail.example.com`',
  text => urlOf(text, ['smtp:', 'smtps:']),
)

export const sender = textKind('an address, e.g. `Portico <no-reply@example.com>`', text =>
  /^(?:[^<>@\r\n]{1,100}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text) ? text : undefined,
)
