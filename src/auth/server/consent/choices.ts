/** The scopes of a consent request as its page shows them: in groups, reading folded into writing, with their reach. */
import { openidScopes } from '../../../model/builtin.ts'
import type { Collection, CollectionAccess, Model } from '../../../model/model.ts'
import { type Reach, reachOf } from '../../../plan/guard.ts'
import { type AccessClass, user } from '../../../principal.ts'
import { builtIn } from '../../accounts/own/scope-choices.ts'
import type { Interaction, ScopeSentence } from '../server.ts'
import { withCovered } from './scopes.ts'

export type ReachOfOperations = Readonly<Record<keyof CollectionAccess, Reach>>

export interface ScopeChoice extends ScopeSentence {
  /** The user has not allowed it yet, but has allowed the app other scopes. */
  readonly isNew: boolean
  /** It cannot be unticked: without `openid` the request is not a sign-in (OpenID Connect Core, 3.1.2.1). */
  readonly fixed: boolean
  /** What remains if this is unticked: the requested read scope that this write scope covers. */
  readonly narrower: ScopeSentence | undefined
  /** For the scope of a collection. */
  readonly access:
    | {
        readonly collection: string
        readonly writes: boolean
        readonly reach: ReachOfOperations
      }
    | undefined
}

export type ScopeGroupKind = 'person' | 'data' | 'operations' | 'account'

export interface ScopeGroup {
  readonly kind: ScopeGroupKind
  /** New choices come first. */
  readonly choices: readonly ScopeChoice[]
}

type Asked = Pick<Interaction, 'scopes' | 'allowedBefore'>

/** The scopes without read scopes that a write scope covers. */
export function widest<Scope extends { readonly scope: string }>(scopes: readonly Scope[]): readonly Scope[] {
  const all = new Set(scopes.map(({ scope }) => scope))
  return scopes.filter(({ scope }) => !(scope.startsWith('read:') && all.has(writing(scope))))
}

function writing(scope: string): string {
  return scope.replace(/^read:/, 'write:')
}

function collectionOf({ collections }: Pick<Model, 'collections'>, scope: string): Collection | undefined {
  const [, singular] = /^(?:read|write):(.+)$/.exec(scope) ?? []
  return [...collections.values()].find(one => one.singular === singular)
}

function kindOf(scope: string, collection: Collection | undefined): ScopeGroupKind {
  if (openidScopes.has(scope)) return 'person'
  if (collection === undefined) return 'operations'
  return builtIn.has(collection.name) ? 'account' : 'data'
}

const order: readonly ScopeGroupKind[] = ['person', 'data', 'operations', 'account']

function newFirst(choices: readonly ScopeChoice[]): readonly ScopeChoice[] {
  return [...choices.filter(({ isNew }) => isNew), ...choices.filter(({ isNew }) => !isNew)]
}

const throughOther = { appId: null, grant: null, thirdParty: true }

/** `who`: the user who decides. An app can do no more than its user, so the user's role limits what a scope reaches. */
export function scopeGroups(
  model: Model,
  { scopes, allowedBefore }: Asked,
  who: { readonly id: number; readonly role: string },
): readonly ScopeGroup[] {
  const asked = withCovered(scopes.map(({ scope }) => scope))
  // A first-party app can do more, but rarely shows this page.
  const { access } = user(who.id, who.role, asked, undefined, undefined, throughOther)
  const choiceOf = ({ scope, sentence }: ScopeSentence, of: Collection | undefined): ScopeChoice => ({
    scope,
    sentence,
    isNew: allowedBefore.size > 0 && !allowedBefore.has(scope),
    fixed: scope === 'openid',
    narrower: scopes.find(one => one.scope !== scope && writing(one.scope) === scope),
    access: of && { ...accessOf(model, of, access), writes: scope.startsWith('write:') },
  })
  const found = widest(scopes).map(asked => {
    const collection = collectionOf(model, asked.scope)
    return { kind: kindOf(asked.scope, collection), choice: choiceOf(asked, collection) }
  })
  return order.flatMap(kind => {
    const choices = found.filter(one => one.kind === kind).map(({ choice }) => choice)
    return choices.length === 0 ? [] : [{ kind, choices: newFirst(choices) }]
  })
}

function accessOf(model: Model, collection: Collection, access: AccessClass) {
  const reach = (operation: keyof CollectionAccess) =>
    reachOf(model, collection, collection.access[operation], access)
  return {
    collection: collection.name,
    reach: { read: reach('read'), create: reach('create'), update: reach('update'), delete: reach('delete') },
  }
}
