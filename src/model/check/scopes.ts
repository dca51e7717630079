/** The scopes of a model, each with its sentence for the consent page. */
import type { CollectionOptions } from '../declaration.ts'
import { isObject } from '../fields/declared.ts'
import type { LogicDeclaration, QueryOptions } from '../logic.ts'

interface Scoped {
  readonly name: string
  readonly singular: string
  readonly options: CollectionOptions
}

const builtinNames: ReadonlyMap<string, string> = new Map([
  ['api_keys', 'API keys'],
  ['oauth_apps', 'OAuth apps'],
  ['oauth_app_secrets', 'secrets of OAuth apps'],
  ['webhook_deliveries', 'deliveries of webhooks'],
])

const verbs = { read: 'see', create: 'create', update: 'change', delete: 'delete' } as const

type Verb = keyof typeof verbs

/** The scopes of collections and of logic. An operation that nobody may do has none, unless an access rule names its scope. */
export function scopesOf(
  collections: Iterable<Scoped>,
  logic: LogicDeclaration,
): ReadonlyMap<string, string> {
  const all = [...collections]
  const named = scopesInRules([all.map(({ options }) => options), logic])
  const scopes = new Map<string, string>()
  for (const one of all) {
    const { read, write } = sentencesOf(one, logic)
    for (const [level, sentence] of Object.entries({ read, write })) {
      const scope = `${level}:${one.singular}`
      if (sentence !== undefined || named.has(scope)) scopes.set(scope, sentence ?? sentenceOf(level, scope))
    }
  }
  for (const [scope, sentence] of ownScopesOf(logic, scopes)) scopes.set(scope, sentence)
  return scopes
}

/** The sentences of scopes that somebody may use. */
function sentencesOf(
  one: Scoped,
  { actions, queries }: LogicDeclaration,
): Partial<Record<'read' | 'write', string>> {
  const items = builtinNames.get(one.name) ?? one.name.replaceAll('_', ' ')
  const possible = (Object.keys(verbs) as Verb[]).filter(verb => !isForNobody(one, verb))
  const writes = possible.filter(verb => verb !== 'read')
  const acts = writes.length === 0 && belongTo(one, actions)
  const done = [...possible.map(verb => verbs[verb]), ...(acts ? ['carry out actions on'] : [])]
  return {
    ...((possible.includes('read') || belongTo(one, queries)) && { read: `See ${items}` }),
    ...((writes.length > 0 || acts) && { write: `${capitalized(listed(done))} ${items}` }),
  }
}

/** An operation without a rule is for administrators. */
function isForNobody({ options }: Scoped, verb: Verb): boolean {
  const declared: unknown = isObject(options.access) ? options.access[verb] : undefined
  return isObject(declared) && isObject(declared.rule) && declared.rule.kind === 'nobody'
}

/** Whether one of the operations is declared on the collection, and has no scope of its own. */
function belongTo({ name }: Scoped, operations: object | undefined): boolean {
  return Object.values(operations ?? {}).some(one => {
    const { on, of, scope } = (isObject(one?.options) ? one.options : {}) as QueryOptions
    return (on === name || of === name) && scope === undefined
  })
}

/** Every scope that a rule in these declarations names. */
function scopesInRules(
  declared: unknown,
  found = new Set<string>(),
  seen = new Set<unknown>(),
): ReadonlySet<string> {
  if (typeof declared !== 'object' || declared === null || seen.has(declared)) return found
  seen.add(declared)
  if (isObject(declared) && declared.kind === 'scope' && typeof declared.scope === 'string') {
    found.add(declared.scope)
  }
  for (const part of Object.values(declared)) scopesInRules(part, found, seen)
  return found
}

/** `a`, `a and b`, `a, b and c`. */
function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' and ')
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The scopes of actions and queries that declare their own. */
function ownScopesOf(
  { actions = {}, queries = {} }: LogicDeclaration,
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [name, one] of [...Object.entries(actions), ...Object.entries(queries)]) {
    const { scope, description } = (isObject(one?.options) ? one.options : {}) as QueryOptions
    if (typeof scope !== 'string' || known.has(scope) || found.has(scope)) continue
    found.set(scope, description ?? sentenceOf(name, scope))
  }
  return found
}

/** `archive:project` → `Archive: project`. */
function sentenceOf(name: string, scope: string): string {
  const words = name.replaceAll('_', ' ')
  const of = (scope.split(':')[1] ?? '').replaceAll('_', ' ')
  const sentence = of === '' || words.includes(of) ? words : `${words}: ${of}`
  return capitalized(sentence)
}
