/** Errors of the authorization server that must not be sent to an app. */

import { named, type Part } from '../../../base/html.ts'
import type { Theme } from '../../../base/theme.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { ProtocolFault } from '../../../identity/server/server.ts'
import { appTile } from '../components/tile.ts'
import { websiteOf } from '../components/website.ts'
import type { Page } from '../frame/layout.ts'
import { faultPage, type MessageLink } from '../frame/message.ts'

/** The texts of one kind of error. `app`: its registered name, or words for it. */
interface FaultTexts {
  readonly title: (app: Part) => Part
  readonly paragraphs: (app: Part, service: Part) => readonly Part[]
}

const restartAdvice = t(
  'Go back to the app and start again. If the problem persists, send the details below to the developer of the app.',
)

const words: Readonly<Record<ProtocolFault['kind'], FaultTexts>> = {
  'unknown-app': {
    title: () => t('This app is not known here'),
    paragraphs: (_app, service) => [
      t(
        'The app that sent you here is not registered with {service}, or is no longer registered. Nothing was shared with it.',
        { service },
      ),
      t('Close this page. If you trust the app, tell its developer.'),
    ],
  },
  'wrong-address': {
    title: app => t('You cannot go on to {app}', { app }),
    paragraphs: app => [
      t(
        'The app asked us to send you to an address that is not registered for {app}. The address may belong to somebody else, so nothing was shared.',
        { app },
      ),
      t('Do not follow the link that led here again. Open the app yourself, and start there.'),
    ],
  },
  over: {
    title: () => t('This took too long'),
    paragraphs: () => [
      t(
        'The request of the app has expired, was answered in another tab, or belongs to another browser. Nothing is lost.',
      ),
      t('Go back to the app and start again. If the problem persists, allow cookies for this site.'),
    ],
  },
  'sign-out': {
    title: () => t('You are not signed out yet'),
    paragraphs: app => [
      t('{app} sent a sign-out request that is not valid. You can sign out on the page of your sessions.', {
        app,
      }),
    ],
  },
  service: {
    title: () => t('Something went wrong on our side'),
    paragraphs: app => [
      t('This is not your fault, nor that of {app}. Wait a minute, then start again.', { app }),
    ],
  },
  request: {
    title: app => t('{app} asked for something that does not work', { app }),
    paragraphs: () => [t('Nothing was shared with it.'), restartAdvice],
  },
}

function remedyOf({ app, kind }: ProtocolFault): MessageLink | undefined {
  if (kind === 'sign-out') return { href: '/account/sessions', label: t('Your sessions') }
  const website = app && websiteOf(app)
  return website && { href: website.href, label: t('Go to {site}', { site: website.host }) }
}

export function protocolFaultPage(theme: Theme, fault: ProtocolFault): Page {
  const { kind, app, error, description, requestId, at } = fault
  const { title, paragraphs } = words[kind]
  const appAtStart = app ? named(app.name) : t('The app')
  const appInSentence = app ? named(app.name) : t('the app')
  const startsWithApp = kind === 'request' || kind === 'sign-out'
  const heading = title(startsWithApp ? appAtStart : appInSentence)
  return faultPage({
    title: heading,
    name: t('This does not work'),
    paragraphs: paragraphs(startsWithApp ? appAtStart : appInSentence, named(theme.name)),
    remedy: remedyOf(fault),
    elsewhere: { href: '/account', label: t('Your account') },
    tile: app && appTile(app, 'large'),
    icon: kind === 'over' ? 'clock' : 'attention',
    readers: t('For those who make the app'),
    details: { code: error, message: description, requestId, at },
  })
}
