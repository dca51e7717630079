/** Mails that notify users of changes that a command has made to their account. */

import { printable } from '../../base/printable.ts'
import type { Records } from '../../base/records.ts'
import { createAddresses } from '../../identity/accounts/addresses/addresses.ts'
import type { NoticeParts } from '../../identity/accounts/notifications.ts'
import { createBackground } from '../../identity/background.ts'
import type { Settings } from '../../server/config/config.ts'
import { loadMailTemplates, openMailer } from '../../server/serve/background/mailer.ts'

export interface Notices {
  /** Undefined if no mail server is configured. */
  readonly parts: NoticeParts | undefined
  /** Waits for the mail server. Returns a sentence that tells whether a mail was sent. */
  outcome(): Promise<string>
}

const noServer = 'No mail was sent: no mail server is configured (`mail.smtp`).\n'

/** Called before the change of an account; `outcome` is called after it. */
export async function openNotices(settings: Settings, records: Records): Promise<Notices> {
  if (settings['mail.smtp'] === undefined) return { parts: undefined, outcome: async () => noServer }
  const faults: string[] = []
  let sent = 0
  const fault = (error: unknown) => faults.push(error instanceof Error ? error.message : String(error))
  const logger = { warn: () => {}, error: ({ err }: { readonly err?: unknown }) => void fault(err) }
  const mail = openMailer({
    ...{ settings, records, logger, mailCatalogue: await loadMailTemplates(settings) },
    options: { onMail: () => sent++ },
  })
  const { background, idle } = createBackground(fault)
  const issuer = settings.baseUrl ?? `http://localhost:${settings.port}`
  return {
    parts: { mail, background, issuer, addresses: createAddresses(records) },
    async outcome() {
      await idle()
      if (sent > 0) return 'A mail was sent to the user.\n'
      const reason = faults[0] ?? 'the user’s address was changed only recently.'
      // The reason may come from a mail server.
      return `No mail was sent: ${printable(reason)}\n`
    },
  }
}
