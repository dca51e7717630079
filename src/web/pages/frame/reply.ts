/** The response with a page, and a policy that allows only what the page needs. */

import type { Reply } from '../../../base/call.ts'
import type { PageLanguage } from '../../../identity/mail/page-texts.ts'
import { type FrameOptions, type Page, renderPage } from './layout.ts'

/** The reply to a request for a page, which is rendered when the language of its reader is known. */
export interface PageReply {
  readonly page: Page
  /** By default 200, and 400 for a page with faults. */
  readonly status?: number
  readonly headers?: readonly string[]
  /** Where the response to a form may redirect besides our own pages, as a source of a policy, e.g. `https:`. */
  readonly leadsTo?: string | undefined
  /** Whether it has frames with documents of its own origin. */
  readonly framesOwn?: boolean
  /** Addresses of images. */
  readonly images?: readonly (string | undefined)[]
}

function originOf(address: string | undefined): string[] {
  if (address === undefined || !URL.canParse(address)) return []
  const { protocol, origin } = new URL(address)
  return protocol === 'https:' || protocol === 'http:' ? [origin] : []
}

/** Some proxies refuse longer headers. An image beyond it is replaced by its initial. */
const maxImageOrigins = 40

/** Content Security Policy Level 3: allows our own stylesheet and script, and images of the named origins. */
function policy(images: readonly (string | undefined)[], { leadsTo, framesOwn }: PageReply): string {
  const sources = ["'self'", 'data:', ...[...new Set(images.flatMap(originOf))].slice(0, maxImageOrigins)]
  const targets = leadsTo === undefined ? "'self'" : `'self' ${leadsTo}`
  return `default-src 'none'; ${framesOwn ? "frame-src 'self'; " : ''}style-src 'self'; script-src 'self'; connect-src 'self'; img-src ${sources.join(' ')}; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`
}

/** `same-origin` hides the addresses of pages from other sites; `no-referrer` would also remove `Origin`. */
function pageHeaders(images: readonly (string | undefined)[], reply: PageReply): string[] {
  return [
    'Content-Type',
    'text/html; charset=utf-8',
    'Cache-Control',
    'no-store',
    'Content-Security-Policy',
    policy(images, reply),
    'X-Frame-Options',
    'DENY',
    'Referrer-Policy',
    'same-origin',
    'Permissions-Policy',
    'publickey-credentials-get=(self), publickey-credentials-create=(self)',
  ]
}

/** The response with the page. */
export function renderReply(frame: FrameOptions, reply: PageReply, language: PageLanguage): Reply {
  const { page, status = page.faulty ? 400 : 200, headers = [], images = [] } = reply
  return {
    status,
    headers: [...pageHeaders([frame.theme.logo, ...images], reply), ...headers],
    body: renderPage(frame, page, language),
  }
}
