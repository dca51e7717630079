import { newKeyText } from '../accounts.ts'
import type { Command } from '../commands.ts'

export const command: Command = {
  options: {},
  run: async () => newKeyText(),
}
