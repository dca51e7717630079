import type { Command } from './commands.ts'
import { model, projectOf } from './options.ts'

export const command: Command = {
  options: { model },
  async run(args) {
    const { model: checked, path } = await projectOf(args)
    return `${path}: the model is right: ${[...checked.collections.keys()].join(', ')}.\n`
  },
}
