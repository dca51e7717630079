/** Errors of the authorization server that must not be sent to an app. */
import type { ProtocolFault } from '../../server/server.ts'
import { html, named, type Part } from '../components/html.ts'
import { appTile } from '../components/tile.ts'
import { websiteOf } from '../components/website.ts'
import type { Page } from '../frame/layout.ts'
import { faultPage, type MessageLink } from '../frame/message.ts'
import type { Theme } from '../frame/theme.ts'

/** The texts of one kind of error. `app`: its registered name, or words for it. */
interface Words {
  readonly title: (app: Part) => Part
  readonly paragraphs: (app: Part, service: Part) => readonly Part[]
}

const again =
  'Go back to the app and start again. If it goes on, send the details below to those who make it.'

const words: Readonly<Record<ProtocolFault['kind'], Words>> = {
  'unknown-app': {
    title: () => 'This app is not known here',
    paragraphs: (_app, service) => [
      html`Whoever sent you here is not registered at ${service}, or not any more. Nothing was shared with them.`,
      'Close this page. If you trust the app, tell those who make it.',
    ],
  },
  'wrong-address': {
    title: app => html`You cannot go on to ${app}`,
    paragraphs: app => [
      html`The answer would have gone to an address that ${app} has not registered. It may be somebody else’s, so nothing was shared.`,
      'Do not follow the link that led here again. Open the app yourself, and start there.',
    ],
  },
  over: {
    title: () => 'This took too long',
    paragraphs: () => [
      'The request of the app has expired, was answered in another tab, or belongs to another browser. Nothing is lost.',
      'Go back to the app and start again. If it goes on, allow cookies for this site.',
    ],
  },
  'sign-out': {
    title: () => 'You are not signed out yet',
    paragraphs: app => [
      html`${app} asked for it in a way that cannot be followed. You can sign out on the page of your sessions.`,
    ],
  },
  service: {
    title: () => 'Something went wrong on our side',
    paragraphs: app => [html`It is neither your fault nor that of ${app}. Wait a minute, then start again.`],
  },
  request: {
    title: app => html`${app} asked for something that does not work`,
    paragraphs: () => ['Nothing was shared with it.', again],
  },
}

function remedyOf({ app, kind }: ProtocolFault): MessageLink | undefined {
  if (kind === 'sign-out') return { href: '/account/sessions', label: 'Your sessions' }
  const website = app && websiteOf(app)
  return website && { href: website.href, label: html`Go to ${website.host}` }
}

export function protocolFaultPage(theme: Theme, fault: ProtocolFault): Page {
  const { kind, app, error, description, requestId, at } = fault
  const { title, paragraphs } = words[kind]
  const capital = app ? named(app.name) : 'The app'
  const inside = app ? named(app.name) : 'the app'
  const isFirst = kind === 'request' || kind === 'sign-out'
  const made = title(isFirst ? capital : inside)
  return faultPage({
    title: made,
    name: 'This does not work',
    paragraphs: paragraphs(isFirst ? capital : inside, named(theme.name)),
    remedy: remedyOf(fault),
    elsewhere: { href: '/account', label: 'Your account' },
    tile: app && appTile(app, 'large'),
    icon: kind === 'over' ? 'clock' : 'attention',
    readers: 'For those who make the app',
    details: { code: error, message: description, requestId, at },
  })
}
