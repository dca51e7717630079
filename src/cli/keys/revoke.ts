import { revokeKey } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'
import { user } from './user.ts'

export const command: Command = {
  arguments: ['key'],
  options: { user, ...files },
  run: written =>
    withDatabase(written, opened => revokeKey(opened, written.needed('user'), written.arguments[0] ?? '')),
}
