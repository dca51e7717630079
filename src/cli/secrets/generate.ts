import type { Command } from '../commands.ts'
import { generateSecret } from '../secrets.ts'

export const command: Command = {
  options: {},
  run: async () => generateSecret(),
}
