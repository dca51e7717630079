/**
 * Locks that keep all others from writing to tables until the transaction ends: its reads then stay true, so that it has
 * one place in the order of all commits. Whoever only reads is not kept waiting. See `decisions/batches-lock-tables.md`.
 */
import type { Collection, Model } from '../../../model/model.ts'
import type { Rule } from '../../../model/rule.ts'
import { join, name, sql } from '../../sql/writer.ts'
import { referencesTo } from '../../write/cascade-set.ts'
import { type Statement, statementOf } from '../connections/statement.ts'

/** Statements are kept for so many sets of collections. */
const maxStatements = 1000

export class TableLocks {
  readonly #model: Model
  readonly #reached = new Map<string, ReadonlySet<string>>()
  readonly #statements = new Map<string, Statement>()

  constructor(model: Model) {
    this.#model = model
  }

  /** Locks the tables of these collections, and of those that their rules, references and deletions reach. */
  of(collections: readonly string[]): Statement | undefined {
    const tables = new Set(collections.flatMap(collection => [...this.#reachedFrom(collection)]))
    if (tables.size === 0) return undefined
    // All lock in one order, so that none waits for another in a ring.
    const sorted = [...tables].sort()
    const key = sorted.join()
    const known = this.#statements.get(key)
    if (known !== undefined) return known
    const made = statementOf(sql`LOCK TABLE ${join(sorted.map(name), ', ')} IN SHARE ROW EXCLUSIVE MODE`)
    if (this.#statements.size < maxStatements) this.#statements.set(key, made)
    return made
  }

  #reachedFrom(collection: string): ReadonlySet<string> {
    const known = this.#reached.get(collection)
    if (known !== undefined) return known
    const found = new Set<string>()
    const start = this.#model.collections.get(collection)
    if (start !== undefined)
      for (const one of withCascades(start, this.#model)) addReached(one, this.#model, found)
    this.#reached.set(collection, found)
    return found
  }
}

/** A collection, and those whose items go or change with a deletion in it. */
function withCascades(start: Collection, model: Model): ReadonlySet<Collection> {
  const found = new Set([start])
  // A set gives what is added to it during the walk as well.
  for (const collection of found) {
    for (const { collection: referring, onDelete } of referencesTo(collection, model)) {
      if (onDelete !== 'restrict') found.add(referring)
    }
  }
  return found
}

/** A collection with what decides reads and writes of it. */
function addReached(collection: Collection, model: Model, found: Set<string>): void {
  found.add(collection.name)
  const { access, fields } = collection
  for (const rule of Object.values(access) as Rule[]) addRule(rule, collection, model, found)
  for (const field of fields.values()) {
    addRule(field.access.read, collection, model, found)
    addRule(field.access.write, collection, model, found)
    const target = field.reference && model.collections.get(field.reference.target)
    if (target === undefined) continue
    found.add(target.name)
    addRule(target.access.read, target, model, found)
  }
}

function addRule(rule: Rule, collection: Collection, model: Model, found: Set<string>): void {
  switch (rule.kind) {
    case 'and':
    case 'or':
      for (const one of rule.rules) addRule(one, collection, model, found)
      return
    case 'not':
      addRule(rule.rule, collection, model, found)
      return
    case 'related': {
      const relation = collection.relations.get(rule.relation)
      const target = relation && model.collections.get(relation.target)
      if (relation === undefined || target === undefined) return
      if (relation.kind === 'manyToMany') found.add(relation.through)
      found.add(target.name)
      addRule(rule.rule, target, model, found)
    }
  }
}
