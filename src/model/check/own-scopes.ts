/** The scopes that actions and queries have for themselves. */
import { isObject } from '../fields/declared.ts'
import type { LogicDeclaration, QueryOptions } from '../logic.ts'

/** Each with the sentence that users read when they consent. */
export function ownScopesOf(
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
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
