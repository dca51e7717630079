/**
 * Resolves names from clients. A field or relation that the caller may not read is treated like an undeclared one, with
 * the same code and message.
 */
import type { ApiError } from '../../base/errors.ts'
import type { Collection, ComputedField, Field, Relation } from '../../model/model.ts'
import { suggest } from '../../model/suggest.ts'

/** The fields and relations of a collection that exist for an access class. */
export interface Names {
  readonly collection: Collection
  /** In the model's order. A field may read as null in some rows. */
  readonly fields: ReadonlyMap<string, Field>
  /** Not part of default selections. */
  readonly computed: ReadonlyMap<string, ComputedField>
  /** In the model's order. The target collections may still be refused. */
  readonly relations: ReadonlyMap<string, Relation>
  /** The searchable fields that the caller may read in every row. */
  readonly searched: readonly Field[]
}

export interface NameFault {
  readonly code: 'unknown_field' | 'unknown_relation' | 'not_sortable'
  /** A predicate, e.g. `names "x", which is not a field of posts.` */
  readonly message: string
  /** The most similar known name. */
  readonly suggestion: string | undefined
}

/** Creates the error: only the transport knows which part of the request has the name. */
export type Refuse = (fault: NameFault) => ApiError

/** In characters: the longest part of a client's text that an error message quotes. */
export const maxQuotedLength = 60

/** A client's text for an error message: escaped, and truncated to `maxQuotedLength`. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text)
}

function unknown(
  kind: 'field' | 'relation',
  name: string,
  { collection }: Names,
  known: Iterable<string>,
): NameFault {
  const suggestion = suggest(name, known)
  const hint = suggestion === undefined ? '' : ` Did you mean \`${suggestion}\`?`
  const message = `names ${quoted(name)}, which is not a ${kind} of ${collection.name}.${hint}`
  return { code: `unknown_${kind}`, message, suggestion }
}

/** A stored or computed field. */
export function findField(names: Names, name: string, refuse: Refuse): Field {
  const field = namedField(names, name)
  if (!field) throw refuse(unknown('field', name, names, fieldNames(names)))
  return field
}

/** A stored or computed field, if there is one of this name. */
export function namedField({ fields, computed }: Names, name: string): Field | undefined {
  return fields.get(name) ?? computed.get(name)
}

/** The names of the stored fields, then those of the computed ones. */
export function fieldNames({ fields, computed }: Names): readonly string[] {
  return [...fields.keys(), ...computed.keys()]
}

export function findRelation(names: Names, name: string, refuse: Refuse): Relation {
  const relation = names.relations.get(name)
  if (!relation) throw refuse(unknown('relation', name, names, names.relations.keys()))
  return relation
}

/** A field by which lists can be sorted. */
export function findSortable(names: Names, name: string, refuse: Refuse): Field {
  const field = findField(names, name, refuse)
  if (field.type.sortable) return field
  throw refuse({
    code: 'not_sortable',
    message: `names ${quoted(name)}, which has no order.`,
    suggestion: undefined,
  })
}
