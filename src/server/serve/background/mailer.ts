/** The mail of a service: its server, its templates, and its languages. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Records } from '../../../base/records.ts'
import { createCatalogue, type MailCatalogue } from '../../../identity/mail/catalogue.ts'
import { lookup } from '../../../identity/mail/languages.ts'
import { createMail, type MailLog, shownMail } from '../../../identity/mail/mail.ts'
import { createMailer, type Mailer } from '../../../identity/mail/mailer.ts'
import { type Settings, SettingsError } from '../../config/config.ts'
import { importFile, ProjectError } from '../../project/project.ts'
import { describeFaults } from '../../project/source/describe.ts'
import { shownPath } from '../../project/source/frame.ts'
import { themeOf } from '../oauth/account-pages.ts'
import type { StartOptions } from '../service.ts'

/**
 * The texts of mails: Portico's own, and those of the file in `mail.templates`. Throws a `ProjectError` with the place of
 * every fault, and a `SettingsError` if there are no mails in `mail.language`.
 */
export async function loadMailTemplates(settings: Settings): Promise<MailCatalogue> {
  const file = settings['mail.templates']
  const catalogue = file === undefined ? createCatalogue() : await loadFile(file)
  const language = settings['mail.language']
  if (lookup(language, catalogue.languages) === undefined) {
    const available = catalogue.languages.map(tag => `\`${tag}\``).join(', ')
    const message = `there are no mails in \`${language}\`, only in ${available}. \`mail.templates\` adds languages.`
    throw new SettingsError([{ place: '`mail.language`', message }])
  }
  return catalogue
}

async function loadFile(file: string): Promise<MailCatalogue> {
  const path = resolve(file)
  if (!existsSync(path)) throw new ProjectError(`${file}: there is no such file of mail templates.`)
  const { default: declared } = await importFile(path, 'file of mail templates')
  // Loaded only for projects with templates.
  const { isDeclaredMailTemplates, templateFaults } = await import(
    '../../../identity/mail/template-faults.ts'
  )
  if (!isDeclaredMailTemplates(declared)) {
    throw new ProjectError(
      `${shownPath(path)}: the file of mail templates must have a default export made by \`defineMailTemplates({ … })\`.`,
    )
  }
  const faults = templateFaults(declared)
  if (faults.length > 0)
    throw new ProjectError(`${shownPath(path)}: ${describeFaults(path, 'The mail templates have', faults)}`)
  return createCatalogue(declared)
}

interface OpenMailerParts {
  readonly settings: Settings
  readonly records: Records
  readonly logger: MailLog
  readonly options: Pick<StartOptions, 'simulation' | 'onMail'>
  readonly mailCatalogue: MailCatalogue
}

export function openMailer({ settings, records, logger, options, mailCatalogue }: OpenMailerParts): Mailer {
  const { simulation, onMail } = options
  const sending = { smtp: settings['mail.smtp'], from: settings['mail.from'] }
  const mail = simulation?.mail ?? createMail(sending, logger)
  return createMailer({
    mail: onMail ? shownMail(mail, onMail) : mail,
    records,
    theme: themeOf(settings),
    catalogue: mailCatalogue,
    language: settings['mail.language'],
    log: logger,
    ...(simulation && { now: simulation.clock.now }),
  })
}
