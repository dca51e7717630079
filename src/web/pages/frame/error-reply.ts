/** Errors of the service as pages: what happened, what to do, and details for the people who investigate. */
import type { Call, Reply } from '../../../base/call.ts'
import { type ApiError, toApiError } from '../../../base/errors.ts'
import type { Icon } from '../components/icons.ts'
import type { FrameOptions } from './layout.ts'
import { faultPage, type MessageLink } from './message.ts'
import { renderReply } from './reply.ts'

interface ErrorTexts {
  readonly title: string
  readonly advice?: string
  readonly icon?: Icon
}

const account: MessageLink = { href: '/account', label: 'Your account' }
const documentation: MessageLink = { href: '/docs', label: 'Documentation' }
const home: MessageLink = { href: '/', label: 'Start page' }

/** The page to go to instead. */
function elsewhereFrom(path: string): MessageLink {
  if (/^\/(?:account|oauth)(?:\/|$)/.test(path)) return account
  return path.startsWith('/docs') && path !== '/docs' ? documentation : home
}

const words: ReadonlyMap<number, ErrorTexts> = new Map([
  [403, { title: 'This is not allowed' }],
  [404, { title: 'There is nothing here', advice: 'The address is wrong, or the page no longer exists.' }],
  [405, { title: 'This page cannot do that', advice: 'Open it from your account instead.' }],
  [408, { title: 'The request took too long', advice: 'Check your connection, and try again.' }],
  [413, { title: 'That is too much', advice: 'Go back, and send less.' }],
  [429, { title: 'Too many attempts', icon: 'clock' }],
  [
    500,
    {
      title: 'Something went wrong on our side',
      advice: 'Try again in a minute. Your input may not have been saved.',
    },
  ],
  [503, { title: 'The service cannot answer now', advice: 'Try again in a moment.', icon: 'clock' }],
])

const other: ErrorTexts = { title: 'This does not work' }

const overWords: ErrorTexts = { title: 'This sign-in is over', icon: 'clock' }

function wordsOf({ status }: ApiError, path: string): ErrorTexts {
  if (status === 404 && path.startsWith('/oauth/interaction/')) return overWords
  return words.get(status) ?? other
}

/** Statuses whose messages only repeat the title, or are for programs. */
const silent: ReadonlySet<number> = new Set([405, 429, 500, 503])

/** E.g. `a minute`, `5 minutes`. */
export function waitText(seconds: number): string {
  if (seconds < 60) return seconds === 1 ? 'a second' : `${seconds} seconds`
  const minutes = Math.ceil(seconds / 60)
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}

function paragraphsOf(error: ApiError, { title, advice }: ErrorTexts): readonly string[] {
  const message = silent.has(error.status) || error.message === `${title}.` ? [] : [error.message]
  const seconds = Number(error.headers?.['Retry-After'] ?? (error.status === 429 ? 60 : Number.NaN))
  const wait = Number.isNaN(seconds) ? [] : [`Wait ${waitText(seconds)}, then try again.`]
  if (wait.length > 0 || message.length > 0) return [...message, ...wait]
  return advice === undefined ? [] : [advice]
}

/** `now`: milliseconds since 1970. Other errors than `ApiError` do not reveal their cause. */
export function errorPageReply(
  frame: FrameOptions,
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
    readers: 'Details',
    details: {
      code: error.code,
      message: silent.has(error.status) ? error.message : undefined,
      requestId,
      at: now,
    },
  })
  const headers = Object.entries(error.headers ?? {}).flat()
  return renderReply(frame, { page, status: error.status, headers })
}
