/** `portico start`: serves until a signal comes. */

import type { FirstAdministrator } from '../auth/bootstrap.ts'
import { start } from '../serve.ts'
import type { Command } from './commands.ts'
import { database, model, type Project, projectOf } from './options.ts'
import { printSurely } from './print.ts'

/** What the first start prints, once. */
export function welcome(made: FirstAdministrator, url: string): string {
  const key = made.key ?? '$PORTICO_ADMIN_API_KEY'
  return [
    '',
    'The first start has made an administrator. This is shown once:',
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

/** Ctrl-C reaches the whole group of processes, and npm and the scripts pass it on: that is one signal, for so many milliseconds. */
const ONE_SIGNAL = 1000

/** Resolves at the first SIGTERM or SIGINT; a later one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    let asked: number | undefined
    const stop = () => {
      if (asked !== undefined && performance.now() - asked > ONE_SIGNAL) process.exit(1)
      asked ??= performance.now()
      resolve()
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}

async function startAndWait({ model, settings }: Project): Promise<string> {
  const stopped = stopSignal()
  const service = await start(model, settings)
  if (service.firstAdministrator) {
    await printSurely(welcome(service.firstAdministrator, settings.baseUrl ?? service.url))
  }
  await stopped
  await service.close()
  return ''
}

export const command: Command = {
  options: { model, database, port: { value: 'number', sentence: 'The port; else PORT.' } },
  run: async written => startAndWait(await projectOf(written)),
}
