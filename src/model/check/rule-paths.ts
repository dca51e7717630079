/** Paths of rules: a field, or a field along to-one relations, e.g. `task.project.organization_id`. */
import type { FieldDeclaration } from '../fields/declared.ts'
import { didYouMean } from '../nearest.ts'
import type { Outline, Outlines } from './outline.ts'
import { isRefusedRelation } from './refused-relations.ts'

/** A rule may follow this many relations. */
export const maxRelations = 5

/** Where a path ends. */
export interface FieldPlace {
  /** Of the collection that has the field. */
  readonly outline: Outline
  readonly name: string
  readonly declared: FieldDeclaration
}

export interface Refused {
  /** Undefined: the path uses a refused relation, whose fault is reported elsewhere. */
  readonly fault: string | undefined
}

/** `relations`: the number of relations that the rule has already followed. */
export function placeOf(
  path: string,
  from: Outline,
  outlines: Outlines,
  relations: number,
): FieldPlace | Refused {
  if (typeof path !== 'string') return { fault: "A comparison needs a field. Write e.g. `field('status')`." }
  const steps = path.split('.')
  const name = steps.pop() ?? ''
  if (relations + steps.length > maxRelations) {
    return { fault: `The rule goes through more than ${maxRelations} relations. Shorten the path.` }
  }
  let outline = from
  for (const step of steps) {
    const next = stepOf(step, outline, outlines)
    if ('fault' in next) return next
    outline = next.outline
  }
  const declared = outline.fields.get(name)
  if (declared) return { outline, name, declared }
  const meant = didYouMean(name, outline.fields.keys())
  return { fault: `\`${outline.name}\` has no field \`${name}\`.${meant}` }
}

function stepOf(step: string, outline: Outline, outlines: Outlines): { readonly outline: Outline } | Refused {
  const relation = outline.relations.get(step)
  if (relation?.kind === 'one') {
    const target = outlines.get(relation.target)
    if (target) return { outline: target }
  }
  if (relation !== undefined) {
    const write = `Write \`related('${step}', …)\`, which holds for at least one of them.`
    return { fault: `\`${outline.name}.${step}\` leads to several items, and a path to one. ${write}` }
  }
  if (isRefusedRelation(outline, step, outlines)) return { fault: undefined }
  const toOne = [...outline.relations.values()].filter(one => one.kind === 'one').map(one => one.name)
  const meant = didYouMean(step, toOne)
  return { fault: `\`${outline.name}\` has no relation \`${step}\` to one item.${meant}` }
}
