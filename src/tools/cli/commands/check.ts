import { loadMailTemplates } from '../../../server/serve/background/mailer.ts'
import { model, projectOf } from '../options.ts'
import type { Command } from './commands.ts'

export const command: Command = {
  options: { model },
  async run(args) {
    const { model: checked, path, settings } = await projectOf(args)
    await loadMailTemplates(settings)
    return `${path}: the model is valid: ${[...checked.collections.keys()].join(', ')}.\n`
  },
}
