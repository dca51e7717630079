/** The paths of checked rules: a field, or a field along to-one relations. */
import type { Collection, Field, ToOne } from '../model.ts'
import type { RuleOfKind } from './rule.ts'

export interface FollowedPath {
  readonly steps: readonly { readonly relation: ToOne; readonly target: Collection }[]
  readonly field: Field
}

/** `collectionOf`: throws for an unknown name. */
export function followPath(
  path: string,
  from: Collection,
  collectionOf: (name: string) => Collection,
): FollowedPath {
  const names = path.split('.')
  const name = names.pop() ?? ''
  let last = from
  const steps = names.map(step => {
    const relation = last.relations.get(step)
    if (relation?.kind !== 'one') throw new Error(`${last.name}.${step} is not a relation to one item`)
    last = collectionOf(relation.target)
    return { relation, target: last }
  })
  const field = last.fields.get(name)
  if (field === undefined) throw new Error(`${last.name} has no field ${name}`)
  return { steps, field }
}

/** The paths of a comparison. */
export function pathsOf({ field, operand }: RuleOfKind<'compare'>): readonly string[] {
  return operand.kind === 'field' ? [field, operand.field] : [field]
}
