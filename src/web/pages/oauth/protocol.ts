/** The pages that the authorization server itself shows. */

import type { Theme } from '../../../base/theme.ts'
import type { ProtocolPages } from '../../../identity/server/server.ts'
import { layout } from '../frame/layout.ts'
import { messagePage, signOutPage } from '../frame/message.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from './device.ts'
import { protocolFaultPage } from './protocol-fault.ts'

export function createProtocolPages(theme: Theme): ProtocolPages {
  return {
    error: fault => layout(theme, protocolFaultPage(theme, fault)),
    deviceCode: page => layout(theme, deviceCodePage(page)),
    deviceConfirm: page => layout(theme, deviceConfirmPage(page)),
    deviceDone: page => layout(theme, deviceDonePage(page)),
    signOut: page => layout(theme, signOutPage(page)),
    signedOut: () =>
      layout(
        theme,
        messagePage({
          title: 'You are signed out',
          paragraphs: ['You can close this page.'],
          link: { href: '/account/sign-in', label: 'Sign in again' },
          icon: 'check',
        }),
      ),
  }
}
