/** The pages that the authorization server itself shows. */

import { type PageLanguage, t } from '../../../identity/mail/page-texts.ts'
import type { ProtocolPages } from '../../../identity/server/server.ts'
import { type FrameOptions, type Page, renderPage } from '../frame/layout.ts'
import { messagePage, signOutPage } from '../frame/message.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from './device.ts'
import { protocolFaultPage } from './protocol-fault.ts'

/** `languageOf`: the language for a browser that sends this `Accept-Language`. */
export function createProtocolPages(
  frame: FrameOptions,
  languageOf: (acceptLanguage: string | undefined) => PageLanguage,
): ProtocolPages {
  const write = (page: Page, languages: string | undefined) => renderPage(frame, page, languageOf(languages))
  return {
    error: (fault, languages) => write(protocolFaultPage(frame.theme, fault), languages),
    deviceCode: (page, languages) => write(deviceCodePage(page), languages),
    deviceConfirm: (page, languages) => write(deviceConfirmPage(page), languages),
    deviceDone: (page, languages) => write(deviceDonePage(page), languages),
    signOut: (page, languages) => write(signOutPage(page), languages),
    signedOut: languages => write(signedOutPage, languages),
  }
}

const signedOutPage = messagePage({
  title: t('You are signed out'),
  paragraphs: [t('You can close this page.')],
  link: { href: '/account/sign-in', label: t('Sign in again') },
  icon: 'check',
})
