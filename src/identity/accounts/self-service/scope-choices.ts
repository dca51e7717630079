/** The scopes of the model for forms and lists, by collection, each with a description. */

import type { Text } from '../../../base/html.ts'
import type { AccessClass } from '../../../base/principal.ts'
import { staticRule } from '../../../engine/plan/guard/guard.ts'
import { openidScopes } from '../../../model/builtin/builtin.ts'
import { managedCollections } from '../../../model/builtin/managed.ts'
import { exists } from '../../../model/crud.ts'
import type { Collection, CrudOperation, Model } from '../../../model/model.ts'
import { type PageText, translated } from '../../mail/page-texts.ts'
import { scopeTitle } from '../../server/consent/scope-title.ts'
import { readableName } from '../sign-up/sign-up-fields.ts'

export type Level = 'none' | 'read' | 'write'

/** A collection whose scopes can be chosen. */
export interface CollectionChoice {
  /** The singular, as in scopes. */
  readonly type: string
  readonly title: Text
  readonly description: string | undefined
  /** The levels that can be chosen, besides `none`. */
  readonly levels: readonly Exclude<Level, 'none'>[]
}

export interface ScopeChoices {
  /** The scopes of OpenID Connect, which apps can have and keys cannot. */
  readonly signIn: readonly (readonly [scope: string, sentence: Text])[]
  /** The collections of the model. */
  readonly items: readonly CollectionChoice[]
  /** The built-in collections: users, keys, apps, webhooks. */
  readonly account: readonly CollectionChoice[]
  /** The scopes of single actions and queries, each with its sentence. */
  readonly others: readonly (readonly [scope: string, sentence: Text])[]
}

export const builtIn: ReadonlySet<string> = new Set(['users', ...managedCollections])

const titles: ReadonlyMap<string, PageText> = new Map([
  ['users', 'Accounts'],
  ['api_keys', 'API keys'],
  ['oauth_apps', 'OAuth apps'],
  ['oauth_app_secrets', 'Secrets of OAuth apps'],
])

/** The name of a collection on pages, e.g. `Blog posts` for `blog_posts`. Names of the model are in the words of the model. */
export function titleOf(name: string): Text {
  return builtIn.has(name) ? translated(titles.get(name) ?? readableName(name)) : readableName(name)
}

/** Whether an action or query needs the scope. */
export function isScopeOfOperation({ logic }: Model, scope: string): boolean {
  return [...logic.actions.values(), ...logic.queries.values()].some(operation => operation.scope === scope)
}

function levelsOf(
  model: Model,
  collection: Collection,
  access: AccessClass | undefined,
): CollectionChoice['levels'] {
  const { singular } = collection
  const levels = (['read', 'write'] as const).filter(level => model.scopes.has(`${level}:${singular}`))
  if (access === undefined) return levels
  const isPossible = (operation: CrudOperation) =>
    staticRule(model, collection, collection.access[operation], access) !== 'never'
  const writes =
    (['create', 'update', 'delete'] as const).some(isPossible) ||
    isScopeOfOperation(model, `write:${singular}`)
  const reads = isPossible('read') || isScopeOfOperation(model, `read:${singular}`)
  return levels.filter(level => (level === 'read' ? reads : writes))
}

/** `access`: omits scopes that this access class can never use; if undefined, every scope is included. */
export function scopeChoices(model: Model, access?: AccessClass): ScopeChoices {
  const all = [...model.collections.values()].flatMap(collection => {
    const levels = levelsOf(model, collection, access)
    if (levels.length === 0) return []
    const { name, singular: type, description } = collection
    return [{ name, type, title: titleOf(name), description, levels }]
  })
  const ofCollections = new Set(
    [...model.collections.values()].flatMap(({ singular }) => [`read:${singular}`, `write:${singular}`]),
  )
  return {
    signIn: [],
    items: all.filter(({ name }) => !builtIn.has(name)),
    account: all.filter(({ name }) => builtIn.has(name)),
    others: [...model.scopes].filter(([scope]) => !ofCollections.has(scope)),
  }
}

/** The scopes that an app may request: every scope, because its users decide. */
export function appScopeChoices(model: Model): ScopeChoices {
  return {
    ...scopeChoices(model),
    signIn: [...openidScopes].map(([scope, sentence]) => [scope, translated(sentence)]),
  }
}

/** The chosen level of each collection, and the other chosen scopes. */
export interface ChosenScopes {
  readonly levels: ReadonlyMap<string, Level>
  readonly others: ReadonlySet<string>
}

export const noScopes: ChosenScopes = { levels: new Map(), others: new Set() }

/** The name of a collection's radio buttons. */
export function levelField(type: string): string {
  return `level-${type}`
}

/** The choices of a submitted form, limited to those that `choices` offers. */
export function readChosenScopes(
  choices: ScopeChoices,
  form: { text(name: string): string; list(name: string): readonly string[] },
): ChosenScopes {
  const levels = new Map<string, Level>()
  for (const { type, levels: offered } of [...choices.items, ...choices.account]) {
    const level = offered.find(value => value === form.text(levelField(type)))
    if (level) levels.set(type, level)
  }
  const ticked = new Set(form.list('scope'))
  const otherScopes = [...choices.signIn, ...choices.others].map(([scope]) => scope)
  return { levels, others: new Set(otherScopes.filter(scope => ticked.has(scope))) }
}

/** The choices of a form that edits these scopes. */
export function toChosenScopes(
  { items, account }: Pick<ScopeChoices, 'items' | 'account'>,
  scopes: readonly string[],
): ChosenScopes {
  const types = new Set([...items, ...account].map(({ type }) => type))
  const levels = new Map<string, Level>()
  const others = new Set<string>()
  for (const scope of scopes) {
    const [, level, type] = /^(read|write):(.+)$/.exec(scope) ?? []
    // The scope of a single operation may look like one of a collection.
    if (type === undefined || !types.has(type)) others.add(scope)
    else if (levels.get(type) !== 'write') levels.set(type, level as Level)
  }
  return { levels, others }
}

/** The chosen scopes: the inverse of `toChosenScopes`. */
export function scopesIn({ levels, others }: ChosenScopes): readonly string[] {
  return [...others, ...[...levels].map(([type, level]) => `${level}:${type}`)]
}

/** What a scope allows, in words. Sentences of the model's own scopes are in the language of the model. */
function sentenceOf({ scopes, collections }: Pick<Model, 'scopes' | 'collections'>, scope: string): Text {
  const sentence = openidScopes.get(scope) ?? scopes.get(scope) ?? scope
  const [, level, type] = /^(read|write):(.+)$/.exec(scope) ?? []
  const collection = [...collections.values()].find(({ singular }) => singular === type)
  if (collection === undefined) return translated(sentence)
  const reach = (operation: CrudOperation) => (exists(collection, operation) ? 'all' : 'none')
  const title = scopeTitle(
    collection,
    { read: reach('read'), create: reach('create'), update: reach('update'), delete: reach('delete') },
    level === 'write',
  )
  // Where only actions write, the sentence of the model says so.
  return title !== undefined && String(title) === sentence ? title : translated(sentence)
}

/** One sentence for each scope. Writing includes reading, so a read scope has no sentence if its write scope has one. */
export function sentencesOf(
  model: Pick<Model, 'scopes' | 'collections'>,
  scopes: readonly string[],
): readonly Text[] {
  const granted = new Set(scopes)
  return scopes
    .filter(scope => !(scope.startsWith('read:') && granted.has(scope.replace('read:', 'write:'))))
    .map(scope => sentenceOf(model, scope))
}
