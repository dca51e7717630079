import type { Command } from '../commands.ts'
import { listDocuments } from '../documents.ts'
import { settingsOf } from '../options.ts'

export const command: Command = {
  options: {},
  run: async written => listDocuments(await settingsOf(written)),
}
