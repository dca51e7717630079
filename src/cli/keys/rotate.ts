import { rotate } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: {
    'end-old': { value: undefined, sentence: 'End the older keys at once, and every JWT that they signed.' },
    ...files,
  },
  run: written =>
    withDatabase(written, async ({ records, settings }) =>
      rotate(await records(), settings, written.flag('end-old')),
    ),
}
