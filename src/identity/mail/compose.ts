/** Composes a mail from a template: its subject, plain part and HTML part, in a language. */
import type { Theme } from '../../base/theme.ts'
import type { Facts, LayoutTexts, MailTemplates, TextsOfMails } from './content.ts'
import { htmlPart } from './layout.ts'
import { plainPart } from './plain.ts'
import { quotedValues } from './quoted.ts'
import type { CommonValues, MailName, MailRequest, MailValues } from './values.ts'

export interface ComposedMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface ComposeOptions {
  readonly texts: TextsOfMails
  /** BCP 47. */
  readonly language: string
  readonly theme: Theme
  readonly request?: MailRequest | undefined
}

/** E.g. `24 hours`, `1 Stunde`. */
function duration(language: string, minutes: number): string {
  const unit = minutes % 60 === 0 ? 'hour' : 'minute'
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(unit === 'hour' ? minutes / 60 : minutes)
}

function time(language: string, timeMs: number): string {
  return new Intl.DateTimeFormat(language, {
    ...{ day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' },
    ...{ hourCycle: 'h23', timeZone: 'UTC', timeZoneName: 'short' },
  } as const).format(timeMs)
}

/** The time, program and address of the request that has caused the mail. */
function requestFacts(language: string, texts: LayoutTexts, request: MailRequest | undefined): Facts {
  if (request === undefined) return []
  const { at, device, address } = request
  return [
    [texts.time, time(language, at)] as const,
    ...(device === undefined ? [] : [[texts.device, device] as const]),
    ...(address === undefined ? [] : [[texts.address, address] as const]),
  ]
}

/** A single line, as headers require (RFC 5322, 2.2). */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

/**
 * The mails to the owner of an account, which contain details of the request. Other mails may reach a stranger, who must not learn
 * the IP address of somebody who has mistyped an e-mail address.
 */
const withRequest: ReadonlySet<MailName> = new Set([
  'knownAddress',
  'resetPassword',
  'passwordChanged',
  'protectionChanged',
  'accountDeleted',
])

/** Fills in a template. Throws what the template throws. */
export function compose<Name extends MailName>(
  name: Name,
  values: MailValues[Name],
  options: ComposeOptions,
): ComposedMail {
  const { texts, language, theme } = options
  const request = withRequest.has(name) ? options.request : undefined
  const common: CommonValues = {
    service: theme.name,
    request,
    duration: minutes => duration(language, minutes),
  }
  const templates: MailTemplates = texts
  const mail = templates[name]({ ...quotedValues(values), ...common })
  const subject = oneLine(mail.subject)
  if ('html' in mail) return { subject, text: mail.text, html: mail.html }
  const content = { ...mail, subject, requestFacts: requestFacts(language, texts.layout, request) }
  const layout = { theme, language, texts: texts.layout }
  return { subject, text: plainPart(content, layout), html: htmlPart(content, layout) }
}
