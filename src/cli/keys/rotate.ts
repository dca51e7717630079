import { rotate } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: files,
  run: written => withDatabase(written, async ({ records, settings }) => rotate(await records(), settings)),
}
