/** Mail over SMTP. Without a mail server, messages are written to the log and marked as not sent, for trying the service out. */
import { ApiError } from '../../base/errors.ts'

export interface MailMessage {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Displayed instead of the text by mail programs that display HTML. */
  readonly html?: string
  /** BCP 47, if it is known. */
  readonly language?: string
  /** The name of Portico's own mail; undefined if the model's code sends it. */
  readonly template?: string
}

export interface Mail {
  /** Whether messages are really sent. */
  readonly delivers: boolean
  /** Whether somebody reads the messages that are not sent: the developer, on `/dev/mail`. */
  readonly isShown?: boolean
  /** Throws UNAVAILABLE if the mail server refuses the message. */
  send(message: MailMessage): Promise<void>
}

export interface MailLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface MailSettings {
  /** `smtp://user:password@host:587` or `smtps://…`; undefined: no mail server. */
  readonly smtp: string | undefined
  readonly from: string
}

const timeoutMs = 15_000

/**
 * Prevents automatic replies: RFC 3834, 5, and for Exchange. There is no `List-Unsubscribe`, which is for optional mail.
 */
const noReplyHeaders = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }

function loggedMail(log: MailLog): Mail {
  return {
    delivers: false,
    async send({ to, subject, text }) {
      log.warn(
        { to, subject, text },
        'NOT SENT: there is no mail server (`mail.smtp`), so the message is logged instead',
      )
    },
  }
}

/** Passes every message to `show`, in addition to sending it if there is a mail server. */
export function shownMail(mail: Mail, show: (message: MailMessage, isSent: boolean) => void): Mail {
  return {
    delivers: mail.delivers,
    isShown: true,
    async send(message) {
      if (mail.delivers) await mail.send(message)
      show(message, mail.delivers)
    },
  }
}

/**
 * Sends by SMTP; without a server, every message is logged instead. `send` rejects if the server does not accept
 * the message.
 */
export function createMail({ smtp, from }: MailSettings, log: MailLog): Mail {
  if (smtp === undefined) return loggedMail(log)
  const openTransport = async () => {
    const { createTransport } = await import('nodemailer')
    const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
    return createTransport({ url: smtp, ...timeouts, disableFileAccess: true, disableUrlAccess: true })
  }
  let transport: ReturnType<typeof openTransport> | undefined
  return {
    delivers: true,
    async send({ to, subject, text, html, language }) {
      transport ??= openTransport()
      try {
        // An object, not a text: a text could contain several recipients.
        const message = {
          from,
          to: { name: '', address: to },
          subject,
          text,
          ...(html !== undefined && { html }),
        }
        // RFC 3282.
        const headers = { ...noReplyHeaders, ...(language !== undefined && { 'Content-Language': language }) }
        await (await transport).sendMail({ ...message, headers })
      } catch (error) {
        log.error({ err: error }, 'the mail server did not accept a message')
        throw new ApiError('UNAVAILABLE', 'The mail could not be sent.', { cause: error })
      }
    },
  }
}
