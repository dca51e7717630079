/** Paths of rules: a field, or a field along to-one relations, e.g. `task.project.organization_id`. */
import type { FieldDeclaration } from '../fields/declared.ts'
import { didYouMean } from '../suggest.ts'
import type { Outline, Outlines } from './outline.ts'
import { isRefusedRelation } from './refused-relations.ts'

/** The maximum number of relations that a rule follows. */
export const maxRelations = 5

/** The field at the end of a path. */
export interface FieldPlace {
  /** The collection that has the field. */
  readonly outline: Outline
  readonly name: string
  readonly declared: FieldDeclaration
}

export interface RefusedPath {
  /** Undefined: the path uses a refused relation, whose fault is reported elsewhere. */
  readonly fault: string | undefined
}

/** `relations`: the number of relations that the rule has already followed. */
export function resolveFieldPath(
  path: string,
  from: Outline,
  outlines: Outlines,
  relations: number,
): FieldPlace | RefusedPath {
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
  const suggestion = didYouMean(name, outline.fields.keys())
  return { fault: `\`${outline.name}\` has no field \`${name}\`.${suggestion}` }
}

function stepOf(
  step: string,
  outline: Outline,
  outlines: Outlines,
): { readonly outline: Outline } | RefusedPath {
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
  const toOne = [...outline.relations.values()].filter(({ kind }) => kind === 'one').map(({ name }) => name)
  const suggestion = didYouMean(step, toOne)
  return { fault: `\`${outline.name}\` has no relation \`${step}\` to one item.${suggestion}` }
}
