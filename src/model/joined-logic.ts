/** Joins the two parts of a model's logic. */
import { ModelError, type ModelFault } from './check/faults.ts'
import type { LogicDeclaration } from './logic/logic.ts'

const kinds = ['checks', 'actions', 'queries', 'reactions', 'jobs', 'routes'] as const

/** Throws a `ModelError` with every name that both parts declare. */
export function joinedLogic(first: LogicDeclaration, second: LogicDeclaration): LogicDeclaration {
  if (Object.keys(second).length === 0) return first
  const faults = kinds.flatMap(kind => duplicateFaults(kind, first[kind], second[kind]))
  if (faults.length > 0) throw new ModelError(faults)
  const joined = kinds.map(kind => [kind, { ...first[kind], ...second[kind] }])
  return { ...first, ...second, ...Object.fromEntries(joined) }
}

function duplicateFaults(kind: string, first: object = {}, second: object = {}): readonly ModelFault[] {
  return Object.keys(second)
    .filter(name => Object.hasOwn(first, name))
    .map(name => ({
      place: `${kind}.${name}`,
      message: 'Both parts of the logic declare this name. Remove one of the declarations.',
    }))
}
