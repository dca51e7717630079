import { errorsPage } from '../../config/page.ts'
import type { Command } from '../commands.ts'

export const command: Command = {
  options: {},
  run: async () => errorsPage(),
}
