import { listUsers } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: files,
  run: written => withDatabase(written, listUsers),
}
