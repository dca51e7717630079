/** `/dev/mail`: the sent mails, and all templates. */

import type { Reply } from '../../../base/call.ts'
import type { MailCatalogue } from '../../../identity/mail/catalogue.ts'
import { type ComposedMail, compose } from '../../../identity/mail/compose.ts'
import { english } from '../../../identity/mail/page-texts.ts'
import { type MailName, mailNames, sampleValues } from '../../../identity/mail/values.ts'
import type { Exchange } from '../../../server/http/http.ts'
import type { DevPages } from '../../../server/serve/service.ts'
import type { FrameOptions, Page } from '../../../web/pages/frame/layout.ts'
import { type PageReply, renderReply } from '../../../web/pages/frame/reply.ts'
import { type MailReaders, refusalOf } from './local-request.ts'
import type { Mailbox } from './mailbox.ts'
import { listPage, mailPage, mailPath, problemPage, sentPage, templatesPage, templatesPath } from './pages.ts'

export interface MailPagesParts extends MailReaders {
  readonly mailbox: Mailbox
  readonly catalogue: MailCatalogue
  readonly frame: FrameOptions
  /** Whether a mail server is configured. */
  readonly delivers: boolean
}

const isolation = ['Cross-Origin-Resource-Policy', 'same-origin', 'Cross-Origin-Opener-Policy', 'same-origin']
const commonHeaders = ['Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer', ...isolation]

/** No script of a mail runs, and its origin is opaque (Content Security Policy Level 3). */
const previewPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"

/** Links open in a new tab: the linked pages refuse to be framed. */
function previewReply(mail: string): Reply {
  const base = '<base target="_blank">'
  const body = /<head[^>]*>/i.test(mail) ? mail.replace(/<head[^>]*>/i, start => start + base) : base + mail
  const headers = ['Content-Type', 'text/html; charset=utf-8', 'Content-Security-Policy', previewPolicy]
  return { status: 200, headers: [...headers, ...commonHeaders], body }
}

function textReply(body: string): Reply {
  return { status: 200, headers: ['Content-Type', 'text/plain; charset=utf-8', ...commonHeaders], body }
}

function problem(status: number, title: string, message: string): PageReply {
  return { page: problemPage(title, message), status }
}

type Part = 'page' | 'html' | 'text'

function replyTo(parts: MailPagesParts, { method, path, headers, req }: Exchange): Reply | PageReply {
  const { mailbox, catalogue } = parts
  const { remoteAddress: peer, localAddress: local } = req.socket
  const refusal = refusalOf({ headers, peer, local }, parts)
  if (refusal !== undefined) return problem(403, 'Not shown here', refusal)
  if (method !== 'GET' && method !== 'HEAD')
    return {
      ...problem(405, 'Method not allowed', 'Mails can only be read.'),
      headers: ['Allow', 'GET, HEAD'],
    }
  if (path === mailPath) return { page: listPage(mailbox.list(), parts.delivers) }
  if (path === templatesPath) return { page: templateList(parts) }
  const reply = sentReply(mailbox, path) ?? templateReply(parts, catalogue, path)
  return reply ?? problem(404, 'Not found', 'Mails of earlier runs and the oldest mails are not kept.')
}

export function createMailPages(parts: MailPagesParts): DevPages {
  return {
    owns: path => path === mailPath || path.startsWith(`${mailPath}/`),
    answer(exchange) {
      const reply = replyTo(parts, exchange)
      if (!('page' in reply)) return reply
      const headers = [...(reply.headers ?? []), ...isolation]
      return renderReply(parts.frame, { ...reply, headers, framesOwn: true }, english)
    },
  }
}

function sentReply(mailbox: Mailbox, path: string): Reply | PageReply | undefined {
  const [, id, part = 'page'] = /^\/dev\/mail\/([1-9]\d{0,8})(?:\/(html|text))?$/.exec(path) ?? []
  const mail = mailbox.get(Number(id))
  if (mail === undefined) return undefined
  if ((part as Part) === 'text') return textReply(mail.text)
  if ((part as Part) === 'html') return mail.html === undefined ? undefined : previewReply(mail.html)
  const ids = mailbox.list().map(({ id: mailId }) => mailId)
  const index = ids.indexOf(mail.id)
  const [newer, older] = [ids[index - 1], ids[index + 1]]
  return {
    page: sentPage(mail, { ...(newer !== undefined && { newer }), ...(older !== undefined && { older }) }),
  }
}

function sample(
  { catalogue, frame: { theme } }: MailPagesParts,
  name: MailName,
  language: string,
): ComposedMail {
  const request = { at: Date.now(), address: '203.0.113.7', device: 'Firefox, Linux' }
  return compose(name, sampleValues[name], { texts: catalogue.texts(language), language, theme, request })
}

function templateList(parts: MailPagesParts): Page {
  const { languages } = parts.catalogue
  const rows = mailNames.map(name => ({
    name,
    subjects: languages.map(language => [language, sample(parts, name, language).subject] as const),
  }))
  return templatesPage(rows, languages)
}

function templateReply(
  parts: MailPagesParts,
  { languages }: MailCatalogue,
  path: string,
): Reply | PageReply | undefined {
  const [requestedName, tag, part = 'page'] = path.slice(templatesPath.length + 1).split('/')
  const name = mailNames.find(candidate => candidate === requestedName)
  const language = languages.find(candidate => candidate === tag)
  if (!path.startsWith(`${templatesPath}/`) || name === undefined || language === undefined) return undefined
  const { subject, text, html } = sample(parts, name, language)
  const templatePath = `${templatesPath}/${name}`
  if (part === 'html') return previewReply(html)
  if (part === 'text') return textReply(text)
  if (part !== 'page') return undefined
  const others = languages.filter(other => other !== language)
  return {
    page: mailPage({
      subject,
      text,
      htmlPath: `${templatePath}/${language}/html`,
      currentPath: templatesPath,
      links: [
        [templatesPath, 'All templates'],
        ...others.map(other => [`${templatePath}/${other}`, other] as const),
      ],
      facts: [
        ['Template', name],
        ['Language', language],
      ],
    }),
  }
}
