/** Kinds of settings for pages and mail. */
import { refuseCopyingMistakes, urlWithHost } from './copying-mistakes.ts'
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

export const webImage = textKind(
  'the address of an image, beginning with `https://` or `http://`',
  text => urlWithHost(text, ['https:', 'http:']) && text,
)

/** Those of the mail library that concern one server. */
const smtpParameters =
  /^(?:name|localAddress|secure|requireTLS|ignoreTLS|authMethod|pool|max(?:Connections|Messages)|rate(?:Delta|Limit)|tls\.(?:rejectUnauthorized|servername|minVersion))$/

function smtpUrl(text: string): string | undefined {
  const url = urlWithHost(text, ['smtp:', 'smtps:'])
  const unknown = [...(url?.searchParams.keys() ?? [])].find(name => !smtpParameters.test(name))
  if (unknown !== undefined)
    throw new RangeError(`has the parameter \`${unknown.slice(0, 50)}\`, which has no effect here: remove it`)
  return url && text
}

export const smtp = textKind(
  'the address of a mail server such as `smtps://user:password@mail.example.com`',
  smtpUrl,
)

export const sender = textKind('an address, e.g. `Portico <no-reply@example.com>`', text => {
  // A display name may have quotation marks around it (RFC 5322, 3.2.5).
  refuseCopyingMistakes(text.replace(/^"[^"]*" *<(.*)>$/, '$1'))
  return /^(?:[^<>@\r\n]{1,100}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text) ? text : undefined
})
