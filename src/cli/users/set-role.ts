import { setRole } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  arguments: ['email', 'role'],
  options: files,
  run: written =>
    withDatabase(written, opened => setRole(opened, written.arguments[0] ?? '', written.arguments[1] ?? '')),
}
