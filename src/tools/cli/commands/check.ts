import { publishedCollections } from '../../../model/computed/fields.ts'
import type { Model } from '../../../model/model.ts'
import { loadMailTemplates } from '../../../server/serve/background/mailer.ts'
import { model, projectOf } from '../options.ts'
import type { Command } from './commands.ts'

export const command: Command = {
  options: { model },
  async run(args) {
    const { model: checked, path, settings } = await projectOf(args)
    await loadMailTemplates(settings)
    const { collections, logic } = checked
    const valid = `${path}: the model is valid: ${[...collections.keys()].join(', ')}.`
    const routes = [...logic.routes.values()].map(route => `${route.method} ${route.path}`)
    return [valid, ...routes, ...publications(checked), ''].join('\n')
  },
}

/** A line for each computed field that publishes a value of hidden items. */
function publications({ collections }: Model): readonly string[] {
  return [...collections.values()].flatMap(({ name, computed, relations }) =>
    [...computed.values()].flatMap(field => {
      const published = publishedCollections(field.expression, relations)
      if (published.length === 0) return []
      return `${name}.computed.${field.name} publishes a value of all related ${published.join(' and ')}, hidden ones too.`
    }),
  )
}
