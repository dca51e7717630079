import { listApps } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: { user: { value: 'email', sentence: 'Whose apps; else everybody’s.' }, ...files },
  run: written => withDatabase(written, opened => listApps(opened, written.text('user'))),
}
