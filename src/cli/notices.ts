/** Mails that tell users what a command has done to their account. */
import { createAddresses } from '../auth/accounts/addresses.ts'
import type { NoticeParts } from '../auth/accounts/notifications.ts'
import { createBackground } from '../auth/background.ts'
import type { Settings } from '../config.ts'
import type { Records } from '../records.ts'
import { loadMailTemplates, openMailer } from '../serve/background/mailer.ts'

export interface Notices {
  /** Undefined without a mail server. */
  readonly parts: NoticeParts | undefined
  /** Waits for the mail server, and says whether a mail was sent. */
  said(): Promise<string>
}

const noServer = 'No mail was sent: there is no mail server (`mail.smtp`).\n'

/** Called before a change of an account; `said` is called after it. */
export async function openNotices(settings: Settings, records: Records): Promise<Notices> {
  if (settings['mail.smtp'] === undefined) return { parts: undefined, said: async () => noServer }
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
    async said() {
      await idle()
      if (sent > 0) return 'A mail was sent that says so.\n'
      const why = faults[0] ?? 'their address was set only recently.'
      return `No mail was sent: ${why}\n`
    },
  }
}
