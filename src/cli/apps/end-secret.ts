import { endSecret } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  arguments: ['app', 'secret'],
  options: files,
  run: written =>
    withDatabase(written, opened =>
      endSecret(opened, written.arguments[0] ?? '', written.arguments[1] ?? ''),
    ),
}
