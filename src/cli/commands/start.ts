/** `portico start`: serves until a signal arrives. */
import type { FirstAdministrator } from '../../auth/bootstrap.ts'
import { start } from '../../serve.ts'
import type { Command } from '../commands.ts'
import { database, model, type Project, port, projectOf } from '../options.ts'
import { printSurely } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'

/** The text that the first start prints, once. */
export function welcome(made: FirstAdministrator, url: string): string {
  const key = made.key ?? '$PORTICO_ADMIN_API_KEY'
  return [
    '',
    'The first start created an administrator. This is shown once:',
    '',
    `  e-mail    ${made.email}`,
    `  password  ${made.password ?? '(the one in PORTICO_ADMIN_PASSWORD)'}`,
    `  API key   ${made.key ?? '(the one in PORTICO_ADMIN_API_KEY)'}`,
    '',
    'Try it:',
    '',
    `  curl -H "Authorization: Bearer ${key}" ${url}/api/v1/users`,
    '',
    '',
  ].join('\n')
}

async function startAndWait({ model, settings }: Project): Promise<string> {
  const stopped = stopSignal()
  const service = await start(model, settings, { ownProcess: true })
  if (service.firstAdministrator) {
    await printSurely(welcome(service.firstAdministrator, settings.baseUrl ?? service.url))
  }
  await stopped
  await service.close()
  return ''
}

export const command: Command = {
  options: { model, database, port },
  run: async args => startAndWait(await projectOf(args)),
}
