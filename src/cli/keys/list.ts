import { listKeys } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'
import { user } from './user.ts'

export const command: Command = {
  options: { user, ...files },
  run: written => withDatabase(written, opened => listKeys(opened, written.needed('user'))),
}
