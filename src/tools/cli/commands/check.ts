import { user } from '../../../base/principal.ts'
import { namesFor, staticRule } from '../../../engine/plan/guard/guard.ts'
import { managedCollections } from '../../../model/builtin/managed.ts'
import { publishedCollections } from '../../../model/computed/fields.ts'
import type { Model, ToOne } from '../../../model/model.ts'
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
    return [valid, ...routes, ...publications(checked), ...personalLines(checked), ''].join('\n')
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

const effects = {
  cascade: 'deleted with',
  clear: 'kept without the person after',
  restrict: 'prevents the deletion of',
} as const

/** A line for each relation that says what belongs to a person, and, in a model that says it, for each to users that does not. */
function personalLines(model: Model): readonly string[] {
  const references = [...model.collections.values()].flatMap(collection =>
    [...collection.relations.values()].flatMap(relation =>
      relation.kind === 'one' ? [{ collection, relation }] : [],
    ),
  )
  if (!references.some(({ relation }) => relation.personal === true)) return []
  return references.flatMap(({ collection, relation }) => {
    const place = `${collection.name}.${relation.field}`
    if (relation.personal === true) {
      const person = user(0, 'user', 'all').access
      const isHidden = staticRule(model, collection, collection.access.read, person) === 'never'
      const isShown = namesFor(model, collection, person).fields.has(relation.field)
      const exported = isHidden
        ? 'not exported, because the role `user` may not read it'
        : isShown
          ? 'exported'
          : `not exported, because its person may not read \`${relation.field}\``
      return [`${place} is personal: ${exported}, ${effects[relation.onDelete]} ${ownerOf(relation)}.`]
    }
    if (
      relation.personal !== undefined ||
      relation.target !== 'users' ||
      managedCollections.has(collection.name)
    )
      return []
    return [
      `${place} names a user, and does not say whether it is personal: write \`personal: true\`, or \`personal: false\`.`,
    ]
  })
}

const ownerOf = ({ target }: ToOne) => (target === 'users' ? 'the account' : `the item of ${target}`)
