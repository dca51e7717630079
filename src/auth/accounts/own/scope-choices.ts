/** The scopes of the model as forms offer them and lists show them: in plain words, by collection. */
import { openidScopes } from '../../../model/builtin.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { staticRule } from '../../../plan/guard.ts'
import type { AccessClass } from '../../../principal.ts'
import { inWords } from '../sign-up/sign-up-fields.ts'

export type Level = 'none' | 'read' | 'write'

/** A collection whose scopes can be chosen. */
export interface CollectionChoice {
  /** As in a scope: the singular. */
  readonly type: string
  readonly title: string
  readonly description: string | undefined
  /** What can be chosen besides nothing. */
  readonly levels: readonly Exclude<Level, 'none'>[]
}

export interface ScopeChoices {
  /** Those of OpenID Connect, which apps have and keys have not. */
  readonly signIn: readonly (readonly [scope: string, sentence: string])[]
  /** Of the model. */
  readonly items: readonly CollectionChoice[]
  /** Built in: users, keys, apps, webhooks. */
  readonly account: readonly CollectionChoice[]
  /** Those of actions and queries that have their own, each with its sentence. */
  readonly others: readonly (readonly [scope: string, sentence: string])[]
}

export const builtIn: ReadonlySet<string> = new Set([
  'users',
  'api_keys',
  'oauth_apps',
  'oauth_app_secrets',
  'webhooks',
  'webhook_deliveries',
])

const titles: ReadonlyMap<string, string> = new Map([
  ['users', 'Accounts'],
  ['api_keys', 'API keys'],
  ['oauth_apps', 'OAuth apps'],
  ['oauth_app_secrets', 'Secrets of OAuth apps'],
])

/** How pages name a collection, e.g. `Blog posts` for `blog_posts`. */
export function titleOf(name: string): string {
  return titles.get(name) ?? inWords(name)
}

/** Whether an action or query needs the scope. */
function isOfLogic({ logic }: Model, scope: string): boolean {
  return [...logic.actions.values(), ...logic.queries.values()].some(one => one.scope === scope)
}

function levelsOf(
  model: Model,
  collection: Collection,
  access: AccessClass | undefined,
): CollectionChoice['levels'] {
  const { singular } = collection
  const known = (['read', 'write'] as const).filter(level => model.scopes.has(`${level}:${singular}`))
  if (access === undefined) return known
  const isPossible = (operation: keyof Collection['access']) =>
    staticRule(model, collection, collection.access[operation], access) !== 'never'
  const writes =
    (['create', 'update', 'delete'] as const).some(isPossible) || isOfLogic(model, `write:${singular}`)
  const reads = isPossible('read') || isOfLogic(model, `read:${singular}`)
  return known.filter(level => (level === 'read' ? reads : writes))
}

/** `access`: leaves out what can never be used by it; left out: every scope. */
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

/** What an app may ask for: everything, since its users decide. */
export function appScopeChoices(model: Model): ScopeChoices {
  return { ...scopeChoices(model), signIn: [...openidScopes] }
}

/** What a form has: the level of each collection, and the other scopes. */
export interface ChosenScopes {
  readonly levels: ReadonlyMap<string, Level>
  readonly others: ReadonlySet<string>
}

export const noScopes: ChosenScopes = { levels: new Map(), others: new Set() }

/** The name of a collection's radio buttons. */
export function levelField(type: string): string {
  return `level-${type}`
}

/** Only what `choices` offer. */
export function chosenIn(
  choices: ScopeChoices,
  form: { text(name: string): string; list(name: string): readonly string[] },
): ChosenScopes {
  const levels = new Map<string, Level>()
  for (const { type, levels: offered } of [...choices.items, ...choices.account]) {
    const level = offered.find(one => one === form.text(levelField(type)))
    if (level) levels.set(type, level)
  }
  const ticked = new Set(form.list('scope'))
  const offered = [...choices.signIn, ...choices.others].map(([scope]) => scope)
  return { levels, others: new Set(offered.filter(scope => ticked.has(scope))) }
}

/** As a form has them that edits these scopes. */
export function chosenOf(
  { items, account }: Pick<ScopeChoices, 'items' | 'account'>,
  scopes: readonly string[],
): ChosenScopes {
  const types = new Set([...items, ...account].map(({ type }) => type))
  const levels = new Map<string, Level>()
  const others = new Set<string>()
  for (const scope of scopes) {
    const [, level, type] = /^(read|write):(.+)$/.exec(scope) ?? []
    // An operation’s own scope may look like one of a collection.
    if (type === undefined || !types.has(type)) others.add(scope)
    else if (levels.get(type) !== 'write') levels.set(type, level as Level)
  }
  return { levels, others }
}

export function scopesIn({ levels, others }: ChosenScopes): readonly string[] {
  return [...others, ...[...levels].map(([type, level]) => `${level}:${type}`)]
}

/** One sentence for each scope; reading is part of writing, so it has none of its own beside it. */
export function sentencesOf(
  { scopes: known }: Pick<Model, 'scopes'>,
  scopes: readonly string[],
): readonly string[] {
  const sentences = new Map([...openidScopes, ...known])
  const all = new Set(scopes)
  return scopes
    .filter(scope => !(scope.startsWith('read:') && all.has(scope.replace('read:', 'write:'))))
    .map(scope => sentences.get(scope) ?? scope)
}
