/**
 * Copies a database into another, of the same kind or not. Rows that the target already has are compared, not copied
 * again: an interrupted copy resumes, and a copy of a database that was written to meanwhile is brought up to date. No
 * position is stored: it would miss earlier rows that have changed since.
 */
import type { Model } from '../../../model/model.ts'
import { isConnectionLost } from '../schema/refusal.ts'
import { schemaOf, schemaText } from '../schema/tables.ts'
import { type CopiedTable, CopyError, type CopySource, type CopyTarget, type FinishedMark } from './sides.ts'
import { type CopyRow, type CopyTable, type CopyTotal, copyTables, RowChecksum } from './tables.ts'

export type { CopiedTable as Copied } from './sides.ts'

/** A database as an operator names it. */
export interface DatabaseLocation {
  /** The file, or the URL. */
  readonly location: string
  readonly kind: 'sqlite' | 'postgres'
  /** Without credentials, for messages. */
  readonly name: string
}

export interface CopyOptions {
  readonly from: DatabaseLocation
  readonly to: DatabaseLocation
  /** Whether changes to the source during the copy may be omitted. */
  readonly live: boolean
  /** Its result is awaited. */
  readonly onProgress: (progress: CopyProgress) => unknown
}

export interface CopyProgress {
  readonly doing: 'copy' | 'compare' | 'finish'
  readonly table: string
  readonly done: number
  readonly of: number
}

async function openSource({ location, kind }: DatabaseLocation, model: Model): Promise<CopySource> {
  if (kind === 'sqlite') return (await import('./sqlite.ts')).SqliteSource.open(location, model)
  return (await import('./postgres.ts')).PostgresSource.open(location, model)
}

async function openTarget({ location, kind }: DatabaseLocation): Promise<CopyTarget> {
  if (kind === 'sqlite') return new (await import('./sqlite.ts')).SqliteTarget(location)
  return (await import('./postgres.ts')).PostgresTarget.open(location)
}

/** Returns the copied rows of each table. Rejects with a `CopyError` or a `MigrationError` for faults that an operator can fix. */
export async function copyDatabase(model: Model, options: CopyOptions): Promise<readonly CopiedTable[]> {
  const { from, to } = options
  if (from.location === to.location) throw new CopyError('The source and the target are the same.')
  const source = await openSource(from, model)
  try {
    const target = await openTarget(to)
    try {
      return await new Copy(model, source, target, options).run()
    } catch (cause) {
      throw asCopyError(cause)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** A database's error as a `CopyError`; any other error unchanged. */
function asCopyError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const isDatabase = 'code' in cause && typeof cause.code === 'string'
  if (!isDatabase && !isConnectionLost(cause)) return cause
  const message = `The copy has stopped: ${cause.message}. Fix this and run the same command again, which resumes the copy.`
  return new CopyError(message, { cause })
}

class Copy {
  readonly #model: Model
  readonly #source: CopySource
  readonly #target: CopyTarget
  readonly #options: CopyOptions

  constructor(model: Model, source: CopySource, target: CopyTarget, options: CopyOptions) {
    this.#model = model
    this.#source = source
    this.#target = target
    this.#options = options
  }

  async run(): Promise<readonly CopiedTable[]> {
    const schema = schemaOf(this.#model)
    const tables = copyTables(schema)
    const mark = { from: this.#options.from.name, schema: schemaText(schema) }
    const claim = await this.#target.claim(mark, this.#model)
    if (typeof claim === 'object') return this.#requireDone(claim, tables)
    for (const table of tables) await this.#copy(table, claim === 'new')
    const copied: CopiedTable[] = []
    const lastNumbers = new Map<string, number>()
    for (const table of tables) {
      copied.push({ table: table.name, ...(await this.#compare(table)) })
      if (table.numbered) lastNumbers.set(table.name, await this.#source.lastNumber(table))
    }
    const logState = await this.#source.logState()
    const hasChanged = await this.#source.hasChanged()
    if (hasChanged && !this.#options.live) throw changedSourceError()
    await this.#options.onProgress({ doing: 'finish', table: '', done: 0, of: 0 })
    await this.#target.finish(this.#model, { lastNumbers, logState }, { ...mark, copied })
    return copied
  }

  /** Throws unless both sides are as they were when the copy finished. With `live`, the source may have changed. */
  async #requireDone(
    { copied }: FinishedMark,
    tables: readonly CopyTable[],
  ): Promise<readonly CopiedTable[]> {
    const sides = this.#options.live ? [this.#target] : [this.#target, this.#source]
    for (const table of tables) {
      const finished = copied.find(entry => entry.table === table.name)
      for (const side of sides) {
        const total = await this.#total(side, table)
        if (total.count !== finished?.count || total.checksum !== finished.checksum)
          throw finishedCopyError(table.name)
      }
    }
    return copied
  }

  async #copy(table: CopyTable, isNew: boolean): Promise<void> {
    const total = await this.#source.count(table)
    let copiedRows = 0
    let after: CopyRow | undefined
    for await (const rows of this.#source.batches(table)) {
      const last = rows.at(-1)
      const existing = isNew ? [] : await this.#target.between(table, after, last)
      if (!areEqual(rows, existing)) await this.#target.replace(table, after, last, rows)
      after = last
      copiedRows += rows.length
      await this.#options.onProgress({ doing: 'copy', table: table.name, done: copiedRows, of: total })
    }
    if (!isNew) await this.#target.replace(table, after, undefined, [])
  }

  /** Reads both sides again from their databases, each independently. */
  async #compare(table: CopyTable): Promise<CopyTotal> {
    const [source, target] = [await this.#total(this.#source, table), await this.#total(this.#target, table)]
    if (source.count === target.count && source.checksum === target.checksum) return target
    const numbers = `${source.count} rows, ${source.checksum}, and ${target.count} rows, ${target.checksum}`
    throw new CopyError(
      `The copy of ${table.name} differs from its source: ${numbers}. Run the command again.`,
    )
  }

  async #total(side: CopySource | CopyTarget, table: CopyTable): Promise<CopyTotal> {
    const sum = new RowChecksum()
    for await (const rows of side.batches(table)) {
      sum.add(rows)
      await this.#options.onProgress({ doing: 'compare', table: table.name, done: sum.count, of: 0 })
    }
    return { count: sum.count, checksum: sum.text }
  }
}

function areEqual(left: readonly CopyRow[], right: readonly CopyRow[]): boolean {
  return left.length === right.length && JSON.stringify(left) === JSON.stringify(right)
}

function finishedCopyError(table: string): CopyError {
  return new CopyError(
    `The target is a finished copy of this source, and ${table} has changed in one of the two since. Nothing was changed: to copy again, name an empty database.`,
  )
}

function changedSourceError(): CopyError {
  return new CopyError(
    'The source was written to while it was copied. Stop its service and run the same command again, which copies only what differs; or add `--live` to leave out later changes.',
  )
}
