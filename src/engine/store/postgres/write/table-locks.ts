/**
 * Locks that keep other transactions from writing to tables until this one ends: the rows that it has read stay unchanged, so
 * that it is serialisable with all commits. Reads do not wait. See `decisions/locks-on-postgresql.md`.
 */
import { storedAggregate } from '../../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../../model/model.ts'
import { referencesTo } from '../../../../model/references.ts'
import { readsOf } from '../../../../model/rule/paths.ts'
import type { Rule } from '../../../../model/rule/rule.ts'
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { CollectionUses } from '../../../plan/transaction.ts'
import { memoised } from '../../memoised.ts'
import { join, name, sql } from '../../sql/writer.ts'
import { checkedBy, placeOfCheck } from '../../write/reading-check.ts'
import { type Statement, statementOf } from '../connections/statement.ts'

/**
 * `EXCLUSIVE`: no other transaction changes rows or locks them. `SHARE`: no other transaction changes rows; several may hold
 * it at once. (https://www.postgresql.org/docs/15/explicit-locking.html, 13.3.1)
 */
export type Mode = 'EXCLUSIVE' | 'SHARE'

export type Modes = ReadonlyMap<string, Mode>

/**
 * Of two transactions that change stored values, the second waits until the first ends: they may change those of the same items in
 * any order. A serial transaction has locked the tables instead.
 */
export const sumsLock = statementOf(
  sql`SELECT pg_advisory_xact_lock(hashtextextended('portico stored values', 0))`,
)

export class TableLocks {
  readonly #model: Model
  readonly #affected = new Map<string, AffectedTables>()
  readonly #statements = new Map<string, Statement>()
  readonly #claims = new Map<string, readonly Statement[]>()
  /** The places of the model's checks that a write may run. */
  readonly #checksOf: (shape: GuardedWrite['shape']) => readonly string[]

  constructor(model: Model) {
    this.#model = model
    this.#checksOf = memoised(shape => checkedBy(shape, model).map(placeOfCheck))
  }

  /**
   * `EXCLUSIVE` for the collections that change, also by cascades; `SHARE` for those that are read, and for those on which
   * rules and references depend. Each table has its strongest mode from the start: two transactions that hold `SHARE` and
   * then want `EXCLUSIVE` would wait for each other.
   */
  modesOf({ reads = [], writes = [], deletes = [] }: CollectionUses): Modes {
    const modes = new Map<string, Mode>()
    const affected = [
      ...reads.map(collection => this.#affectedBy('read', collection)),
      ...writes.map(collection => this.#affectedBy('write', collection)),
      ...deletes.map(collection => this.#affectedBy('delete', collection)),
    ]
    for (const { decides } of affected) for (const table of decides) modes.set(table, 'SHARE')
    for (const { changes } of affected) for (const table of changes) modes.set(table, 'EXCLUSIVE')
    return modes
  }

  /**
   * The statements before the first one of a write that is not in a serial transaction. `ROW EXCLUSIVE` conflicts with
   * `SHARE`, so no such write makes its checks before a serial transaction and its change after it. Creates need it too: the
   * checks of `proposedChecks` precede the INSERT.
   */
  claimsOf({ shape: { kind, collection } }: GuardedWrite): readonly Statement[] {
    const use = kind === 'delete' ? 'delete' : 'write'
    const key = `${use} ${collection.name}`
    const prepared = this.#claims.get(key)
    if (prepared !== undefined) return prepared
    const { changes, changesSums } = this.#affectedBy(use, collection.name)
    const tables = [...changes].sort().map(name)
    const statement = statementOf(sql`LOCK TABLE ${join(tables, ', ')} IN ROW EXCLUSIVE MODE`)
    const claims = changesSums ? [sumsLock, statement] : [statement]
    this.#claims.set(key, claims)
    return claims
  }

  /** The places of the model's checks that read, and that the write may run. */
  checksOf({ shape }: GuardedWrite): readonly string[] {
    return this.#checksOf(shape)
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

  #affectedBy(use: Use, collection: string): AffectedTables {
    const key = `${use} ${collection}`
    const cached = this.#affected.get(key)
    if (cached !== undefined) return cached
    const affected = affectedBy(use, collection, this.#model)
    this.#affected.set(key, affected)
    return affected
  }
}

/** `write`: creates and updates. */
type Use = 'read' | 'write' | 'delete'

interface AffectedTables {
  readonly changes: ReadonlySet<string>
  /** Whether the changes of some of the tables change stored values in others. */
  readonly changesSums: boolean
  readonly decides: ReadonlySet<string>
}

function affectedBy(use: Use, name: string, model: Model): AffectedTables {
  const collection = model.collections.get(name)
  const decides = new Set<string>()
  const none = { changes: new Set<string>(), changesSums: false, decides }
  if (collection === undefined) return none
  if (use === 'read') {
    addTablesOfRead(collection, model, decides)
    return none
  }
  const changed = use === 'delete' ? withCascades(collection, model) : new Set([collection])
  for (const each of changed) addTablesOfWrite(each, model, decides)
  const holders = holdersOfSums(changed, model)
  const changes = new Set([...changed, ...holders].map(({ name: table }) => table))
  return { changes, changesSums: holders.length > 0, decides }
}

/** The collections with stored values that are computed from some of these. */
function holdersOfSums(sources: ReadonlySet<Collection>, { collections }: Model): readonly Collection[] {
  const names = new Set([...sources].map(({ name: source }) => source))
  return [...collections.values()].filter(({ computed, relations }) =>
    [...computed.values()].some(field => {
      const aggregate = storedAggregate(field)
      return aggregate !== undefined && names.has(relations.get(aggregate.relation)?.target ?? '')
    }),
  )
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

/** Adds a collection, and the ones on which the rules of reads depend. */
function addTablesOfRead(collection: Collection, model: Model, tables: Set<string>): void {
  tables.add(collection.name)
  const { access, fields, computed } = collection
  addTablesOfRule(access.read, collection, model, tables)
  for (const field of [...fields.values(), ...computed.values()])
    addTablesOfRule(field.access.read, collection, model, tables)
}

/** Adds a collection, and the ones on which its rules and references depend. */
function addTablesOfWrite(collection: Collection, model: Model, tables: Set<string>): void {
  addTablesOfRead(collection, model, tables)
  const { access, fields } = collection
  for (const rule of Object.values(access) as Rule[]) addTablesOfRule(rule, collection, model, tables)
  for (const field of fields.values()) {
    addTablesOfRule(field.access.write, collection, model, tables)
    const target = field.reference && model.collections.get(field.reference.target)
    if (target === undefined) continue
    tables.add(target.name)
    addTablesOfRule(target.access.read, target, model, tables)
  }
}

function addTablesOfRule(rule: Rule, collection: Collection, model: Model, tables: Set<string>): void {
  for (const { collection: read, of } of readsOf(rule, collection, collectionIn(model)))
    if (of !== 'row') tables.add(read.name)
}

function collectionIn({ collections }: Model): (name: string) => Collection {
  return name => {
    const collection = collections.get(name)
    if (collection === undefined) throw new Error(`the model names ${name}, which does not exist`)
    return collection
  }
}
