/** Sends the mails of the templates, each in the language of its recipient. */
import type { Records } from '../../base/records.ts'
import type { Theme } from '../../base/theme.ts'
import type { MailCatalogue } from './catalogue.ts'
import type { ComposedMail } from './compose.ts'
import { acceptedLanguage, lookup } from './languages.ts'
import type { Mail, MailLog } from './mail.ts'
import type { PageLanguage } from './page-texts.ts'
import type { MailName, MailRequest, MailValues } from './values.ts'

/** The browser that has caused a mail. */
export interface Requester {
  /** `Accept-Language` (RFC 9110, 12.5.4). */
  readonly languages: string | undefined
  readonly address?: string | undefined
  readonly device?: string | undefined
}

export interface MailReceiver {
  readonly to: string
  /** The account that the mail is about, if there is one. */
  readonly userId?: number
  readonly requester?: Requester | undefined
}

export interface Mailer extends Mail {
  /**
   * Sends a mail in the language of the user's last sign-in, otherwise in that of the requesting browser, otherwise in
   * `mail.language`. The first takes precedence, so that strangers cannot choose the language of a user's mails. Throws
   * UNAVAILABLE if the mail server refuses the message.
   */
  sendTemplate<Name extends MailName>(
    name: Name,
    receiver: MailReceiver,
    values: MailValues[Name],
  ): Promise<void>
  /** Stores the language for later mails. Call this when a user has signed in. */
  rememberLanguage(userId: number, acceptLanguage: string | undefined): Promise<void>
  /** The language of pages for a browser: the one that it prefers, otherwise `mail.language`. */
  pageLanguage(acceptLanguage: string | undefined): PageLanguage
  /** The language of pages for a user: that of the mails, if there are pages in it. */
  pageLanguageOf(userId: number, acceptLanguage: string | undefined): Promise<PageLanguage>
}

export interface MailerParts {
  readonly mail: Mail
  readonly records: Records
  readonly theme: Theme
  readonly catalogue: MailCatalogue
  /** For recipients whose language is not known. */
  readonly language: string
  readonly log: Pick<MailLog, 'error'>
  readonly now?: () => number
}

const recordKind = 'MailLanguage'

interface StoredLanguage {
  readonly language: string
}

/** Composes mails in the language of their recipient, and sends them. */
export function createMailer(parts: MailerParts): Mailer {
  const { mail, records, catalogue, now = Date.now } = parts
  const { languages } = catalogue
  const remembered = async (userId: number): Promise<string | undefined> => {
    const record = await records.get(recordKind, String(userId))
    return record && (JSON.parse(record.payload) as StoredLanguage).language
  }
  /** The stored language of a user, if it is available: the project may have removed it since then. */
  const languageOfUser = async (userId: number | undefined, available: readonly string[]) => {
    const stored = userId === undefined ? undefined : await remembered(userId)
    return stored === undefined ? undefined : lookup(stored, available)
  }
  const languageOf = async ({ userId, requester }: MailReceiver): Promise<string> =>
    (await languageOfUser(userId, languages)) ??
    acceptedLanguage(requester?.languages, languages) ??
    parts.language
  const pageLanguage = (acceptLanguage: string | undefined) => {
    const { pageLanguages } = catalogue
    const language = acceptedLanguage(acceptLanguage, pageLanguages) ?? lookup(parts.language, pageLanguages)
    return catalogue.pages(language ?? 'en')
  }
  return {
    delivers: mail.delivers,
    isShown: mail.isShown ?? false,
    send: message => mail.send(message),
    async sendTemplate(name, receiver, values) {
      const language = await languageOf(receiver)
      const { requester } = receiver
      const request = requester && { at: now(), address: requester.address, device: requester.device }
      const composed = await composeSafely(parts, { name, values, language, request })
      await mail.send({ to: receiver.to, template: name, ...composed })
    },
    pageLanguage,
    async pageLanguageOf(userId, acceptLanguage) {
      const language = await languageOfUser(userId, catalogue.pageLanguages)
      return language === undefined ? pageLanguage(acceptLanguage) : catalogue.pages(language)
    },
    async rememberLanguage(userId, acceptLanguage) {
      const language = acceptedLanguage(acceptLanguage, languages)
      if (language === undefined || (await remembered(userId)) === language) return
      const payload = JSON.stringify({ language } satisfies StoredLanguage)
      const id = String(userId)
      await records.put({ kind: recordKind, id, payload, expiresAt: null, owner: id })
    },
  }
}

interface MailToCompose<Name extends MailName> {
  readonly name: Name
  readonly values: MailValues[Name]
  readonly language: string
  readonly request: MailRequest | undefined
}

/** Composes the mail. If a project's template fails, uses Portico's own, so that a fault does not lock anybody out. */
async function composeSafely<Name extends MailName>(
  { catalogue, theme, log }: MailerParts,
  { name, values, language, request }: MailToCompose<Name>,
): Promise<ComposedMail & { readonly language: string }> {
  // Loaded with the first mail, so that the service starts faster.
  const { compose } = await import('./compose.ts')
  try {
    const composed = compose(name, values, { texts: catalogue.texts(language), language, theme, request })
    return { ...composed, language }
  } catch (error) {
    log.error({ err: error, template: name, language }, 'a mail template failed: Portico’s own was sent')
    const builtin = catalogue.own(language)
    return { ...compose(name, values, { ...builtin, theme, request }), language: builtin.language }
  }
}
