/** `portico start`: serves until a signal arrives. */
import type { FirstAdministrator } from '../../../identity/first-administrator.ts'
import { shownPath } from '../../../server/project/source/frame.ts'
import { start } from '../../../server/serve/serve.ts'
import type { Service } from '../../../server/serve/service.ts'
import { database, model, type Project, port, projectOf } from '../options.ts'
import { printSecret } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'
import type { Command } from './commands.ts'

/** The text that the first start prints, once. */
export function welcome(administrator: FirstAdministrator, url: string): string {
  const key = administrator.key ?? '$PORTICO_ADMIN_API_KEY'
  return [
    '',
    'The first start created an administrator. This is shown once:',
    '',
    `  e-mail    ${administrator.email}`,
    `  password  ${administrator.password ?? '(the one in PORTICO_ADMIN_PASSWORD)'}`,
    `  API key   ${administrator.key ?? '(the one in PORTICO_ADMIN_API_KEY)'}`,
    '',
    'Try it:',
    '',
    `  curl -H "Authorization: Bearer ${key}" ${url}/api/v1/users`,
    '',
    '',
  ].join('\n')
}

/** At a terminal, the log is readable, and the addresses follow it, as `portico dev` shows them. */
async function openTerminal({ model, settings, path }: Project) {
  const { Terminal } = await import('../../dev/terminal.ts')
  const { openPath, servicePaths } = await import('../../dev/addresses.ts')
  const terminal = new Terminal()
  const write = (lines: string) => {
    for (const line of lines.trimEnd().split('\n')) terminal.line(line)
  }
  const showAddresses = (service: Service, ms: number) => {
    const url = settings.baseUrl ?? service.url
    const welcomeText = service.firstAdministrator && welcome(service.firstAdministrator, url)
    terminal.addresses(
      { url, openPath: openPath(model), welcome: welcomeText },
      {
        program: 'Portico',
        sentence: `serves ${shownPath(path)}, ready in ${ms} ms. Press Ctrl-C to stop.`,
        paths: servicePaths,
      },
    )
  }
  return { logOutput: { write }, showAddresses }
}

async function startAndWait(project: Project): Promise<string> {
  const { model, settings } = project
  const began = performance.now()
  const stopped = stopSignal()
  const terminal = process.stdout.isTTY ? await openTerminal(project) : undefined
  const service = await start(model, settings, { ownProcess: true, logOutput: terminal?.logOutput })
  if (terminal) terminal.showAddresses(service, Math.round(performance.now() - began))
  else if (service.firstAdministrator)
    await printSecret(welcome(service.firstAdministrator, settings.baseUrl ?? service.url))
  await stopped
  await service.close()
  return ''
}

export const command: Command = {
  options: { model, database, port },
  run: async args => startAndWait(await projectOf(args)),
}
