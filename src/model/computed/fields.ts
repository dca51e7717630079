/** The computed fields of a checked model. */

import type { Collection, ComputedField, Field, Model } from '../model.ts'
import { readsOf } from '../rule/paths.ts'
import type { Rule } from '../rule/rule.ts'
import type { CheckedExpression } from './computed.ts'

/** Whether the field of a model is a computed one. */
export function isComputed(field: Field): field is ComputedField {
  return 'expression' in field
}

/** The number of lists of related items that the expression reads. */
export function countRelatedLists(expression: CheckedExpression): number {
  const sum = (parts: readonly CheckedExpression[]) =>
    parts.reduce((count, part) => count + countRelatedLists(part), 0)
  switch (expression.kind) {
    case 'field':
    case 'literal':
      return 0
    case 'aggregate':
    case 'first':
      return 1
    case 'arithmetic':
      return sum([expression.left, expression.right])
    case 'when':
      return sum([expression.value, expression.otherwise])
    case 'datePart':
    case 'round':
      return countRelatedLists(expression.of)
    default:
      return sum(expression.parts)
  }
}

/** The collections that an expression and its rules read, regardless of the caller. */
export function collectionsRead(
  expression: CheckedExpression,
  collection: Collection,
  collectionOf: (name: string) => Collection,
): ReadonlySet<Collection> {
  const collector = new CollectionCollector(collectionOf)
  collector.add(expression, collection)
  return collector.collections
}

class CollectionCollector {
  readonly collections = new Set<Collection>()
  readonly #collectionOf: (name: string) => Collection

  constructor(collectionOf: (name: string) => Collection) {
    this.#collectionOf = collectionOf
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
  return [...collectionsRead(field.expression, collection, collectionOf)].map(({ name: read }) => read)
}
