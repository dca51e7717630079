import { restoreText } from './backup.ts'
import type { Command } from './commands.ts'
import { database, settingsOf } from './options.ts'

export const command: Command = {
  arguments: ['file'],
  options: { overwrite: { value: undefined, sentence: 'Replace a database that is there.' }, database },
  async run(written) {
    return restoreText(await settingsOf(written), written.arguments[0] ?? '', written.flag('overwrite'))
  },
}
