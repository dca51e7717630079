/** The pages that the authorization server itself shows. */

import type { ProtocolPages } from '../../../identity/server/server.ts'
import { type FrameOptions, renderPage } from '../frame/layout.ts'
import { messagePage, signOutPage } from '../frame/message.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from './device.ts'
import { protocolFaultPage } from './protocol-fault.ts'

export function createProtocolPages(frame: FrameOptions): ProtocolPages {
  return {
    error: fault => renderPage(frame, protocolFaultPage(frame.theme, fault)),
    deviceCode: page => renderPage(frame, deviceCodePage(page)),
    deviceConfirm: page => renderPage(frame, deviceConfirmPage(page)),
    deviceDone: page => renderPage(frame, deviceDonePage(page)),
    signOut: page => renderPage(frame, signOutPage(page)),
    signedOut: () =>
      renderPage(
        frame,
        messagePage({
          title: 'You are signed out',
          paragraphs: ['You can close this page.'],
          link: { href: '/account/sign-in', label: 'Sign in again' },
          icon: 'check',
        }),
      ),
  }
}
