/**
 * Locks that keep other transactions from writing to tables until this one ends: the rows that it has read stay unchanged, so
 * that it is serialisable with all commits. Reads do not wait. See `decisions/batches-lock-tables.md`.
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
  readonly #affected = new Map<string, AffectedTables>()
  readonly #statements = new Map<string, Statement>()

  constructor(model: Model) {
    this.#model = model
  }

  /**
   * `EXCLUSIVE` for these collections, and for the ones that deletions in them change; `SHARE` for the ones on which their
   * rules and references depend.
   */
  modesOf(collections: readonly string[]): Modes {
    const modes = new Map<string, Mode>()
    const affected = collections.map(collection => this.#affectedBy(collection))
    for (const { decides } of affected) for (const table of decides) modes.set(table, 'SHARE')
    for (const { changes } of affected) for (const table of changes) modes.set(table, 'EXCLUSIVE')
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

  #affectedBy(collection: string): AffectedTables {
    const cached = this.#affected.get(collection)
    if (cached !== undefined) return cached
    const affected = affectedBy(collection, this.#model)
    this.#affected.set(collection, affected)
    return affected
  }
}

interface AffectedTables {
  readonly changes: ReadonlySet<string>
  readonly decides: ReadonlySet<string>
}

function affectedBy(collection: string, model: Model): AffectedTables {
  const start = model.collections.get(collection)
  const collections = start === undefined ? new Set<Collection>() : withCascades(start, model)
  const decides = new Set<string>()
  for (const collection of collections) addDecidingTables(collection, model, decides)
  return { changes: new Set([...collections].map(({ name: table }) => table)), decides }
}

/** A collection, and those whose items are deleted or changed by a deletion in it. */
function withCascades(start: Collection, model: Model): ReadonlySet<Collection> {
  const collections = new Set([start])
  // Iterating over a set includes elements that are added meanwhile.
  for (const collection of collections) {
    for (const { collection: referring, onDelete } of referencesTo(collection, model)) {
      if (onDelete !== 'restrict') collections.add(referring)
    }
  }
  return collections
}

/** Adds a collection, and the ones on which its rules and references depend. */
function addDecidingTables(collection: Collection, model: Model, tables: Set<string>): void {
  tables.add(collection.name)
  const { access, fields } = collection
  for (const rule of Object.values(access) as Rule[]) addTablesOfRule(rule, collection, model, tables)
  for (const field of fields.values()) {
    addTablesOfRule(field.access.read, collection, model, tables)
    addTablesOfRule(field.access.write, collection, model, tables)
    const target = field.reference && model.collections.get(field.reference.target)
    if (target === undefined) continue
    tables.add(target.name)
    addTablesOfRule(target.access.read, target, model, tables)
  }
}

function addTablesOfRule(rule: Rule, collection: Collection, model: Model, tables: Set<string>): void {
  switch (rule.kind) {
    case 'and':
    case 'or':
      for (const part of rule.rules) addTablesOfRule(part, collection, model, tables)
      return
    case 'not':
      addTablesOfRule(rule.rule, collection, model, tables)
      return
    case 'compare':
      for (const path of pathsOf(rule)) {
        for (const { target } of followPath(path, collection, collectionIn(model)).steps)
          tables.add(target.name)
      }
      if (rule.operand.kind === 'caller') tables.add('users')
      return
    case 'related': {
      const relation = collection.relations.get(rule.relation)
      const target = relation && model.collections.get(relation.target)
      if (relation === undefined || target === undefined) return
      if (relation.kind === 'manyToMany') tables.add(relation.through)
      tables.add(target.name)
      addTablesOfRule(rule.rule, target, model, tables)
    }
  }
}

function collectionIn({ collections }: Model): (name: string) => Collection {
  return name => {
    const collection = collections.get(name)
    if (collection === undefined) throw new Error(`the model names ${name}, which does not exist`)
    return collection
  }
}
