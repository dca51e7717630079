/** `portico start`: serves until a signal arrives. */
import type { FirstAdministrator } from '../../auth/bootstrap.ts'
import { start } from '../../serve.ts'
import type { Command } from '../commands.ts'
import { database, model, type Project, port, projectOf } from '../options.ts'
import { printSecret } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'

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

async function startAndWait({ model, settings }: Project): Promise<string> {
  const stopped = stopSignal()
  const service = await start(model, settings, { ownProcess: true })
  if (service.firstAdministrator) {
    await printSecret(welcome(service.firstAdministrator, settings.baseUrl ?? service.url))
  }
  await stopped
  await service.close()
  return ''
}

export const command: Command = {
  options: { model, database, port },
  run: async args => startAndWait(await projectOf(args)),
}
