/** Checks a declaration: returns a frozen `Model`, or reports all faults at once. */

import type { Declaration } from '../declaration.ts'
import type { Collection, CollectionAccess, CrudOperation, Logic, Model } from '../model.ts'
import { administratorRule } from '../rule/rule.ts'
import { computedOf } from './computed.ts'
import { Faults, ModelError } from './faults.ts'
import { checkedField, checkRenames, deprecationOf } from './fields.ts'
import { indexesOf } from './indexes.ts'
import { limitsOf } from './limits.ts'
import { logicOf } from './logic.ts'
import { checkGraphqlNames } from './names.ts'
import { checkCollectionOptions } from './options.ts'
import { type Outline, type Outlines, outlinesOf } from './outline.ts'
import { findRelations } from './relations.ts'
import { type RuleCheck, ruleCheck } from './rules.ts'
import { scopesOf } from './scopes.ts'
import { checkedWriteLogic } from './write-logic.ts'

export { ModelError, type ModelFault } from './faults.ts'
export { dependsOnRow } from './rules.ts'

function accessOf(outline: Outline, rules: RuleCheck): CollectionAccess {
  const access = outline.options.access ?? {}
  const ruleFor = (operation: CrudOperation) =>
    rules(access[operation], outline, `${outline.name}.access.${operation}`, administratorRule)
  return {
    read: ruleFor('read'),
    create: ruleFor('create'),
    update: ruleFor('update'),
    delete: ruleFor('delete'),
  }
}

function collectionOf(outline: Outline, outlines: Outlines, rules: RuleCheck, faults: Faults): Collection {
  const { name, singular, options, relations } = outline
  checkCollectionOptions(options, name, faults)
  const fields = [...outline.fields].map(([field, declared]) =>
    checkedField(field, declared, outline, rules, faults),
  )
  checkRenames(fields, field => `${name}.fields.${field}`, faults)
  const fieldsByName = new Map(fields.map(field => [field.name, field]))
  return {
    name,
    singular,
    description: options.description,
    fields: fieldsByName,
    relations,
    indexes: indexesOf(outline, faults),
    access: accessOf(outline, rules),
    searchable: fields.filter(field => field.searchable),
    deprecated: deprecationOf(options.deprecated, `${name}.deprecated`, faults),
    renamedFrom: options.renamedFrom,
    unlogged: outline.unlogged,
    computed: computedOf(outline, outlines, rules, faults),
    ...checkedWriteLogic(outline, faults),
    limits: limitsOf({ outline, outlines, fields: fieldsByName, rules, faults }),
  }
}

function collectionsOf(
  outlines: Outlines,
  rules: RuleCheck,
  faults: Faults,
): ReadonlyMap<string, Collection> {
  const collections = [...outlines.values()].map(outline => collectionOf(outline, outlines, rules, faults))
  checkRenames(collections, name => name, faults)
  return new Map(collections.map(collection => [collection.name, collection]))
}

/** The collections, with the events about their items that actions emit. */
function withEmittedEvents(
  collections: ReadonlyMap<string, Collection>,
  { actions }: Logic,
): ReadonlyMap<string, Collection> {
  const events = [...actions.values()].flatMap(({ emits }) => [...emits])
  if (events.length === 0) return collections
  return new Map(
    [...collections].map(([name, collection]) => {
      const emits = new Map(events.filter(([, event]) => event.collection === name))
      return [name, emits.size === 0 ? collection : { ...collection, emits }]
    }),
  )
}

/** `Object.freeze` does not stop a Map's methods. */
class FrozenMap<K, V> extends Map<K, V> {
  override set(key: K, value: V): this {
    if (Object.isFrozen(this)) throw new TypeError('The model is frozen.')
    return super.set(key, value)
  }
  override delete(): boolean {
    throw new TypeError('The model is frozen.')
  }
  override clear(): void {
    throw new TypeError('The model is frozen.')
  }
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    const entries = [...value].map(([key, part]) => [key, frozen(part)] as const)
    return Object.freeze(new FrozenMap(entries)) as T
  }
  for (const [key, part] of Object.entries(value)) {
    const frozenPart = frozen(part)
    if (frozenPart !== part) Reflect.set(value, key, frozenPart)
  }
  return Object.freeze(value)
}

/** Whether `model({ … })` returned the value. */
function isDeclaration(value: unknown): value is Declaration {
  if (typeof value !== 'object' || value === null) return false
  const { kind, collections } = value as Partial<Declaration>
  return kind === 'model' && typeof collections === 'object' && collections !== null
}

/** Checks a declaration. Throws a `ModelError` that lists all faults. */
export function checkModel(declaration: Declaration): Model {
  const faults = new Faults()
  if (!isDeclaration(declaration)) {
    faults.add('model', 'The module exports no model. Write `export default model({ … })`.')
    throw new ModelError(faults.list)
  }
  const outlines = outlinesOf(declaration, faults)
  checkGraphqlNames(outlines.values(), faults)
  findRelations(outlines, faults)
  const scopes = scopesOf(outlines.values(), declaration.logic)
  const claims = new Set<string>()
  const rules = ruleCheck(outlines, scopes, faults, claims)
  const collectionsWithoutEvents = collectionsOf(outlines, rules, faults)
  const logic = logicOf(declaration.logic, { outlines, rules, faults })
  const collections = withEmittedEvents(collectionsWithoutEvents, logic)
  if (faults.list.length > 0) throw new ModelError(faults.list)
  return frozen({ collections, scopes, logic, claims: [...claims].sort() })
}
