/** Errors of the service as pages: what happened, what to do, and details for the people who investigate. */

import type { Call, Reply } from '../../../base/call.ts'
import { type ApiError, toApiError } from '../../../base/errors.ts'
import type { Message, Text } from '../../../base/html.ts'
import { type PageLanguage, t, translated } from '../../../identity/mail/page-texts.ts'
import type { Icon } from '../components/icons.ts'
import type { FrameOptions } from './layout.ts'
import { faultPage, type MessageLink } from './message.ts'
import { renderReply } from './reply.ts'

interface ErrorTexts {
  readonly title: Message
  readonly advice?: Message
  readonly icon?: Icon
}

const account: MessageLink = { href: '/account', label: t('Your account') }
const documentation: MessageLink = { href: '/docs', label: t('Documentation') }
const home: MessageLink = { href: '/', label: t('Start page') }

/** The page to go to instead. */
function elsewhereFrom(path: string): MessageLink {
  if (/^\/(?:account|oauth)(?:\/|$)/.test(path)) return account
  return path.startsWith('/docs') && path !== '/docs' ? documentation : home
}

const words: ReadonlyMap<number, ErrorTexts> = new Map([
  [403, { title: t('This is not allowed') }],
  [
    404,
    { title: t('There is nothing here'), advice: t('The address is wrong, or the page no longer exists.') },
  ],
  [405, { title: t('This page cannot do that'), advice: t('Open it from your account instead.') }],
  [408, { title: t('The request took too long'), advice: t('Check your connection, and try again.') }],
  [413, { title: t('That is too much'), advice: t('Go back, and send less.') }],
  [429, { title: t('Too many attempts'), icon: 'clock' }],
  [
    500,
    {
      title: t('Something went wrong on our side'),
      advice: t('Try again in a minute. Your input may not have been saved.'),
    },
  ],
  [503, { title: t('The service cannot answer now'), advice: t('Try again in a moment.'), icon: 'clock' }],
])

const other: ErrorTexts = { title: t('This does not work') }

const overWords: ErrorTexts = { title: t('This sign-in is over'), icon: 'clock' }

function wordsOf({ status }: ApiError, path: string): ErrorTexts {
  if (status === 404 && path.startsWith('/oauth/interaction/')) return overWords
  return words.get(status) ?? other
}

/** Statuses whose messages only repeat the title, or are for programs. */
const silent: ReadonlySet<number> = new Set([405, 429, 500, 503])

/** E.g. `Wait 5 minutes, then try again.` */
export function waitText(seconds: number): Message {
  const whole = seconds < 60 ? seconds : Math.ceil(seconds / 60) * 60
  if (whole === 1) return t('Wait a second, then try again.')
  if (whole === 60) return t('Wait a minute, then try again.')
  if (whole < 60) return t('Wait {count} seconds, then try again.', { count: whole })
  return t('Wait {count} minutes, then try again.', { count: whole / 60 })
}

function paragraphsOf(error: ApiError, { title, advice }: ErrorTexts): readonly Text[] {
  const message = silent.has(error.status) || error.message === `${title}.` ? [] : [translated(error.message)]
  const seconds = Number(error.headers?.['Retry-After'] ?? (error.status === 429 ? 60 : Number.NaN))
  const wait = Number.isNaN(seconds) ? [] : [waitText(seconds)]
  if (wait.length > 0 || message.length > 0) return [...message, ...wait]
  return advice === undefined ? [] : [advice]
}

/** `now`: milliseconds since 1970. Other errors than `ApiError` do not reveal their cause. */
export function errorPageReply(
  frame: FrameOptions,
  language: PageLanguage,
  thrown: unknown,
  { requestId, path }: Pick<Call, 'requestId' | 'path'>,
  now = Date.now(),
): Reply {
  const error = toApiError(thrown)
  const pageWords = wordsOf(error, path)
  const { title, icon } = pageWords
  const page = faultPage({
    title,
    name: title,
    paragraphs: paragraphsOf(error, pageWords),
    elsewhere: elsewhereFrom(path),
    icon,
    readers: t('Details'),
    details: {
      code: error.code,
      message: silent.has(error.status) ? error.message : undefined,
      requestId,
      at: now,
    },
  })
  const headers = Object.entries(error.headers ?? {}).flat()
  return renderReply(frame, { page, status: error.status, headers }, language)
}
