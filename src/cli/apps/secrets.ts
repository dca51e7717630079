import { listSecrets } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  arguments: ['app'],
  options: files,
  run: written => withDatabase(written, opened => listSecrets(opened, written.arguments[0] ?? '')),
}
