/** The computed fields of a checked model. */

import type { Collection, ComputedField, Field, Model } from '../model.ts'
import { readsOf } from '../rule/paths.ts'
import type { Rule } from '../rule/rule.ts'
import type { CheckedExpression } from './computed.ts'

/** Whether the field of a model is a computed one. */
export function isComputed(field: Field): field is ComputedField {
  return 'expression' in field
}

type StoredAggregate = CheckedExpression & { readonly kind: 'aggregate' }
type RelatedList = CheckedExpression & { readonly kind: 'aggregate' | 'first' }

/** The lists of related items that the expression reads. */
export function relatedLists(expression: CheckedExpression): readonly RelatedList[] {
  switch (expression.kind) {
    case 'field':
    case 'literal':
      return []
    case 'aggregate':
    case 'first':
      return [expression]
    case 'arithmetic':
      return [expression.left, expression.right].flatMap(relatedLists)
    case 'when':
      return [expression.value, expression.otherwise].flatMap(relatedLists)
    case 'datePart':
    case 'round':
      return relatedLists(expression.of)
    default:
      return expression.parts.flatMap(relatedLists)
  }
}

/** The lists that are read whenever the value is. */
export function scannedLists(expression: CheckedExpression): readonly RelatedList[] {
  return relatedLists(expression).filter(list => list.kind === 'first' || !list.stored)
}

/** The expression of a computed field that is kept in a column. */
export function storedAggregate(field: Field): StoredAggregate | undefined {
  if (!isComputed(field) || field.expression.kind !== 'aggregate' || !field.expression.stored)
    return undefined
  return field.expression
}

/** Whether it is computed from all related items, hidden ones too. */
export function isPublished(list: RelatedList): boolean {
  return list.kind === 'aggregate' && list.asSystem
}

/** The collections of which the expression publishes a value, whether or not the caller may read their items. */
export function publishedCollections(
  expression: CheckedExpression,
  relations: ReadonlyMap<string, { readonly target: string }>,
): readonly string[] {
  const targets = relatedLists(expression).flatMap(list =>
    isPublished(list) ? (relations.get(list.relation)?.target ?? []) : [],
  )
  return [...new Set(targets)]
}

/** The collections that an expression and its rules read, regardless of the caller. `published`: those of published values too. */
export function collectionsRead(
  expression: CheckedExpression,
  collection: Collection,
  collectionOf: (name: string) => Collection,
  published: boolean,
): ReadonlySet<Collection> {
  const collector = new CollectionCollector(collectionOf, published)
  collector.add(expression, collection)
  return collector.collections
}

class CollectionCollector {
  readonly collections = new Set<Collection>()
  readonly #collectionOf: (name: string) => Collection
  readonly #published: boolean

  constructor(collectionOf: (name: string) => Collection, published: boolean) {
    this.#collectionOf = collectionOf
    this.#published = published
  }

  add(expression: CheckedExpression, row: Collection): void {
    switch (expression.kind) {
      case 'literal':
        break
      case 'field':
        this.#addPath([...expression.path, expression.field], row)
        break
      case 'aggregate':
      case 'first':
        if (isPublished(expression) && !this.#published) break
        this.#addRule(expression.where, this.#follow(expression.relation, row))
        break
      case 'arithmetic':
        this.add(expression.left, row)
        this.add(expression.right, row)
        break
      case 'when':
        this.#addRule(expression.rule, row)
        this.add(expression.value, row)
        this.add(expression.otherwise, row)
        break
      case 'datePart':
      case 'round':
        this.add(expression.of, row)
        break
      default:
        for (const part of expression.parts) this.add(part, row)
    }
  }

  #addRule(rule: Rule, row: Collection): void {
    for (const { collection, of } of readsOf(rule, row, this.#collectionOf))
      if (of === 'other') this.collections.add(collection)
  }

  /** The last name is a field's. */
  #addPath(names: readonly string[], row: Collection): void {
    let collection = row
    for (const name of names.slice(0, -1)) collection = this.#follow(name, collection)
  }

  #follow(name: string, { name: holder, relations }: Collection): Collection {
    const relation = relations.get(name)
    if (relation === undefined) throw new Error(`${holder} has no relation ${name}`)
    if (relation.kind === 'manyToMany') this.collections.add(this.#collectionOf(relation.through))
    const target = this.#collectionOf(relation.target)
    this.collections.add(target)
    return target
  }
}

/** The collections that the computed field of this name reads. Empty if there is no such field. */
export function collectionsReadBy(name: string, collection: Collection, model: Model): readonly string[] {
  const field = collection.computed.get(name)
  if (field === undefined) return []
  const collectionOf = (target: string) => {
    const existing = model.collections.get(target)
    if (existing === undefined) throw new Error(`the model has no collection ${target}`)
    return existing
  }
  return [...collectionsRead(field.expression, collection, collectionOf, true)].map(({ name: read }) => read)
}
