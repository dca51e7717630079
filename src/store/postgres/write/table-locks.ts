/**
 * Locks that keep other transactions from writing to tables until this one ends: what it has read stays true, so that it is
 * serialisable with all commits. Reads do not wait. See `decisions/batches-lock-tables.md`.
 */
import type { Collection, Model } from '../../../model/model.ts'
import { followPath, pathsOf } from '../../../model/rule/paths.ts'
import type { Rule } from '../../../model/rule.ts'
import { name, sql } from '../../sql/writer.ts'
import { referencesTo } from '../../write/removal/cascade-set.ts'
import { type Statement, statementOf } from '../connections/statement.ts'

/**
 * `EXCLUSIVE`: no other transaction changes rows or locks them to change them later, so that no other write makes its checks
 * before this transaction and its change after it. `SHARE`: no other transaction changes rows; several may hold it at once.
 */
export type Mode = 'EXCLUSIVE' | 'SHARE'

export type Modes = ReadonlyMap<string, Mode>

export class TableLocks {
  readonly #model: Model
  readonly #reached = new Map<string, Reached>()
  readonly #statements = new Map<string, Statement>()

  constructor(model: Model) {
    this.#model = model
  }

  /**
   * `EXCLUSIVE` for these collections, and for those that change with deletions in them; `SHARE` for those that decide reads
   * and writes of them, by rules and references.
   */
  modesOf(collections: readonly string[]): Modes {
    const modes = new Map<string, Mode>()
    const reached = collections.map(collection => this.#reachedFrom(collection))
    for (const { decides } of reached) for (const table of decides) modes.set(table, 'SHARE')
    for (const { changes } of reached) for (const table of changes) modes.set(table, 'EXCLUSIVE')
    return modes
  }

  /** All transactions lock in the same order, against deadlocks. */
  statements(modes: Modes): readonly Statement[] {
    return [...modes.keys()].sort().map(table => this.#statement(table, modes.get(table) ?? 'SHARE'))
  }

  #statement(table: string, mode: Mode): Statement {
    const key = `${table} ${mode}`
    const prepared = this.#statements.get(key)
    if (prepared !== undefined) return prepared
    const statement = statementOf(sql`LOCK TABLE ${name(table)} IN ${[mode]} MODE`)
    this.#statements.set(key, statement)
    return statement
  }

  #reachedFrom(collection: string): Reached {
    const cached = this.#reached.get(collection)
    if (cached !== undefined) return cached
    const reached = reachedFrom(collection, this.#model)
    this.#reached.set(collection, reached)
    return reached
  }
}

interface Reached {
  readonly changes: ReadonlySet<string>
  readonly decides: ReadonlySet<string>
}

function reachedFrom(collection: string, model: Model): Reached {
  const start = model.collections.get(collection)
  const all = start === undefined ? new Set<Collection>() : withCascades(start, model)
  const decides = new Set<string>()
  for (const changed of all) addReached(changed, model, decides)
  return { changes: new Set([...all].map(({ name: table }) => table)), decides }
}

/** A collection, and those whose items are deleted or changed by a deletion in it. */
function withCascades(start: Collection, model: Model): ReadonlySet<Collection> {
  const found = new Set([start])
  // Iterating over a set includes what is added on the way.
  for (const collection of found) {
    for (const { collection: referring, onDelete } of referencesTo(collection, model)) {
      if (onDelete !== 'restrict') found.add(referring)
    }
  }
  return found
}

/** Adds a collection, and those that decide reads and writes of it. */
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
      for (const part of rule.rules) addRule(part, collection, model, found)
      return
    case 'not':
      addRule(rule.rule, collection, model, found)
      return
    case 'compare':
      for (const path of pathsOf(rule)) {
        for (const { target } of followPath(path, collection, collectionIn(model)).steps)
          found.add(target.name)
      }
      if (rule.operand.kind === 'caller') found.add('users')
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

function collectionIn({ collections }: Model): (name: string) => Collection {
  return name => {
    const found = collections.get(name)
    if (found === undefined) throw new Error(`the model names ${name}, which does not exist`)
    return found
  }
}
