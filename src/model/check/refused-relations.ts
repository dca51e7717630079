/** Relations that are refused with a fault. Their other uses are not reported as further faults. */
import type { Link } from '../fields/declared.ts'
import type { Outline, Outlines } from './outline.ts'

/** Whether the field is a relation that `findRelations` has refused. It checks only collections of the model. */
export function isRefusedField(outline: Outline, field: string, outlines: Outlines): boolean {
  const isLink = outline.fields.get(field)?.link !== undefined
  return isLink && !outline.references.has(field) && outlines.get(outline.name) === outline
}

/** Whether a relation of this name is declared, and refused. */
export function isRefusedRelation(outline: Outline, name: string, outlines: Outlines): boolean {
  if (outline.relations.has(name) || outlines.get(outline.name) !== outline) return false
  if (typeof name !== 'string') return false
  const isToOne = [...outline.fields].some(
    ([field, { link }]) => link && (relationNameOf(field, link) ?? field) === name,
  )
  const isManyToMany = Object.hasOwn(outline.options.relations ?? {}, name)
  return isToOne || isManyToMany || isInverse(outline, name, outlines)
}

/** Whether it is the inverse of a relation to this collection, or to one that does not exist. */
function isInverse(outline: Outline, name: string, outlines: Outlines): boolean {
  const links = [...outlines.values()].flatMap(({ fields }) => [...fields.values()].map(({ link }) => link))
  return links.some(
    link => link && link.inverse === name && (link.target === outline.name || !outlines.has(link.target)),
  )
}

/** The name of a field's relation; undefined if it cannot be derived. */
export function relationNameOf(field: string, { as }: Link): string | undefined {
  return as ?? (field.endsWith('_id') ? field.slice(0, -'_id'.length) : undefined)
}
