import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'
import { rotate } from '../secrets.ts'

export const command: Command = {
  options: files,
  run: written => withDatabase(written, ({ stored, settings }) => rotate(stored, settings)),
}
