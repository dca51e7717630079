/** The scopes of a model, each with its sentence for the consent page. */

import { isObject } from '../../base/json.ts'
import type { CollectionOptions } from '../declaration.ts'
import type { LogicDeclaration, QueryOptions } from '../logic/logic.ts'
import { capitalized, itemsInWords, listed } from '../words.ts'

interface Scoped {
  readonly name: string
  readonly singular: string
  readonly options: CollectionOptions
}

const verbs = { read: 'see', create: 'create', update: 'change', delete: 'delete' } as const

type Verb = keyof typeof verbs

/** The scopes of collections and of logic. An operation that no caller can perform has none, unless an access rule names its scope. */
export function scopesOf(
  collections: Iterable<Scoped>,
  logic: LogicDeclaration,
): ReadonlyMap<string, string> {
  const all = [...collections]
  const namedScopes = scopesInRules([all.map(({ options }) => options), logic])
  const scopes = new Map<string, string>()
  for (const collection of all) {
    const { read, write } = sentencesOf(collection, logic)
    for (const [level, sentence] of Object.entries({ read, write })) {
      const scope = `${level}:${collection.singular}`
      if (sentence !== undefined || namedScopes.has(scope))
        scopes.set(scope, sentence ?? sentenceOf(level, scope))
    }
  }
  for (const [scope, sentence] of ownScopesOf(logic, scopes)) scopes.set(scope, sentence)
  return scopes
}

/** The sentences of scopes that somebody may use. */
function sentencesOf(
  collection: Scoped,
  { actions, queries }: LogicDeclaration,
): Partial<Record<'read' | 'write', string>> {
  const items = itemsInWords(collection)
  const possible = (Object.keys(verbs) as Verb[]).filter(verb => !isForNobody(collection, verb))
  const writes = possible.filter(verb => verb !== 'read')
  const hasOnlyActions = writes.length === 0 && hasOperation(collection, actions)
  const verbPhrases = [
    ...possible.map(verb => verbs[verb]),
    ...(hasOnlyActions ? ['carry out actions on'] : []),
  ]
  return {
    ...((possible.includes('read') || hasOperation(collection, queries)) && { read: `See ${items}` }),
    ...((writes.length > 0 || hasOnlyActions) && { write: `${capitalized(listed(verbPhrases))} ${items}` }),
  }
}

/** An operation without a rule is for administrators. */
function isForNobody({ options }: Scoped, verb: Verb): boolean {
  const declared: unknown = isObject(options.access) ? options.access[verb] : undefined
  return isObject(declared) && isObject(declared.rule) && declared.rule.kind === 'nobody'
}

/** Whether one of the operations is declared on the collection without a scope of its own. */
function hasOperation({ name }: Scoped, operations: object | undefined): boolean {
  return Object.values(operations ?? {}).some(operation => {
    const { on, of, scope } = (isObject(operation?.options) ? operation.options : {}) as QueryOptions
    return (on === name || of === name) && scope === undefined
  })
}

/** Every scope that a rule in these declarations names. */
function scopesInRules(
  declared: unknown,
  scopes = new Set<string>(),
  seen = new Set<unknown>(),
): ReadonlySet<string> {
  if (typeof declared !== 'object' || declared === null || seen.has(declared)) return scopes
  seen.add(declared)
  if (isObject(declared) && declared.kind === 'scope' && typeof declared.scope === 'string') {
    scopes.add(declared.scope)
  }
  for (const part of Object.values(declared)) scopesInRules(part, scopes, seen)
  return scopes
}

/** The scopes of actions and queries that declare their own. */
function ownScopesOf(
  { actions = {}, queries = {} }: LogicDeclaration,
  existing: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const scopes = new Map<string, string>()
  for (const [name, operation] of [...Object.entries(actions), ...Object.entries(queries)]) {
    const { scope, description } = (isObject(operation?.options) ? operation.options : {}) as QueryOptions
    if (typeof scope !== 'string' || existing.has(scope) || scopes.has(scope)) continue
    scopes.set(scope, description ?? sentenceOf(name, scope))
  }
  return scopes
}

/** `archive:project` → `Archive: project`. */
function sentenceOf(name: string, scope: string): string {
  const words = name.replaceAll('_', ' ')
  const type = (scope.split(':')[1] ?? '').replaceAll('_', ' ')
  const sentence = type === '' || words.includes(type) ? words : `${words}: ${type}`
  return capitalized(sentence)
}
