import { loadMailTemplates } from '../../../server/serve/background/mailer.ts'
import { model, projectOf } from '../options.ts'
import type { Command } from './commands.ts'

export const command: Command = {
  options: { model },
  async run(args) {
    const { model: checked, path, settings } = await projectOf(args)
    await loadMailTemplates(settings)
    const { collections, logic } = checked
    const routes = [...logic.routes.values()].map(route => `${route.method} ${route.path}\n`)
    return `${path}: the model is valid: ${[...collections.keys()].join(', ')}.\n${routes.join('')}`
  },
}
