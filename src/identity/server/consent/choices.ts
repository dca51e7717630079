/** The scopes of a consent request as its page shows them: in groups, reading folded into writing, with their reach. */

import { type AccessClass, user } from '../../../base/principal.ts'
import { type Reach, reachOf } from '../../../engine/plan/guard/guard.ts'
import { openidScopes } from '../../../model/builtin/builtin.ts'
import { exists } from '../../../model/crud.ts'
import type { Collection, CrudOperation, Model } from '../../../model/model.ts'
import { builtIn, isScopeOfOperation } from '../../accounts/self-service/scope-choices.ts'
import { itemsText, t, translated } from '../../mail/page-texts.ts'
import type { Interaction, ScopeSentence } from '../server.ts'
import { type ReachOfOperations, scopeTitle } from './scope-title.ts'
import { withCovered } from './scopes.ts'

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

type RequestedScopes = Pick<Interaction, 'scopes' | 'allowedBefore'>

/** The scopes without read scopes that a write scope covers. */
function widest<Scope extends { readonly scope: string }>(scopes: readonly Scope[]): readonly Scope[] {
  const all = new Set(scopes.map(({ scope }) => scope))
  return scopes.filter(({ scope }) => !(scope.startsWith('read:') && all.has(writeScopeOf(scope))))
}

function writeScopeOf(scope: string): string {
  return scope.replace(/^read:/, 'write:')
}

function isWriteScope(scope: string): boolean {
  return scope.startsWith('write:')
}

function collectionOf({ collections }: Pick<Model, 'collections'>, scope: string): Collection | undefined {
  const [, singular] = /^(?:read|write):(.+)$/.exec(scope) ?? []
  return [...collections.values()].find(collection => collection.singular === singular)
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

const thirdPartyAccess = { app: null, grant: null, thirdParty: true }

/** `decider`: the user who decides. An app can do no more than its user, so the user's role limits what a scope reaches. */
export function scopeGroups(
  model: Model,
  { scopes, allowedBefore }: RequestedScopes,
  decider: { readonly id: number; readonly role: string },
): readonly ScopeGroup[] {
  const requested = withCovered(scopes.map(({ scope }) => scope))
  // A first-party app can do more, but rarely shows this page.
  const { access } = user(decider.id, decider.role, requested, undefined, undefined, thirdPartyAccess)
  const titled = ({ scope, sentence }: ScopeSentence, collection: Collection | undefined): ScopeSentence => {
    const reach = collection && accessOf(model, collection, access).reach
    const title = reach && scopeTitle(collection, reach, isWriteScope(scope))
    const isUseless = collection && !isScopeOfOperation(model, scope)
    const otherwise = isUseless
      ? t('Nothing: you cannot use {items} either', { items: itemsText(collection.name) })
      : translated(sentence)
    return { scope, sentence: title ?? otherwise }
  }
  const choiceOf = (requestedScope: ScopeSentence, collection: Collection | undefined): ScopeChoice => {
    const { scope } = requestedScope
    const narrower = scopes.find(other => other.scope !== scope && writeScopeOf(other.scope) === scope)
    return {
      ...titled(requestedScope, collection),
      isNew: allowedBefore.size > 0 && !allowedBefore.has(scope),
      fixed: scope === 'openid',
      narrower: narrower && titled(narrower, collection),
      access: collection && { ...accessOf(model, collection, access), writes: isWriteScope(scope) },
    }
  }
  const entries = widest(scopes).map(requestedScope => {
    const collection = collectionOf(model, requestedScope.scope)
    return { kind: kindOf(requestedScope.scope, collection), choice: choiceOf(requestedScope, collection) }
  })
  return order.flatMap(kind => {
    const choices = entries.filter(entry => entry.kind === kind).map(({ choice }) => choice)
    return choices.length === 0 ? [] : [{ kind, choices: newFirst(choices) }]
  })
}

function accessOf(model: Model, collection: Collection, access: AccessClass) {
  const reach = (operation: CrudOperation): Reach =>
    exists(collection, operation) ? reachOf(model, collection, collection.access[operation], access) : 'none'
  return {
    collection: collection.name,
    reach: { read: reach('read'), create: reach('create'), update: reach('update'), delete: reach('delete') },
  }
}
