/** Imports the rows of a file in chunks: one transaction stores the rows of a chunk and the position after it. */
import { createHash, type Hash } from 'node:crypto'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Assignment, CreateShape, Plan } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { selected } from '../../../engine/plan/system-plans.ts'
import type {
  IndependentWrites,
  ProgramPlan,
  ProgramSteps,
  RecordChange,
} from '../../../engine/plan/transaction.ts'
import type { Collection } from '../../../model/model.ts'
import { Failure } from '../failure.ts'
import type { ImportCounts, ImportPosition, ProgressRecord } from './progress-record.ts'
import type { RawRecord } from './records.ts'
import { type ImportRow, type RowReader, reasonsIn } from './rows.ts'

/** A row that was not imported, with the reasons. */
export interface RejectedRow {
  readonly line: number
  readonly reasons: readonly string[]
  readonly record: RawRecord
}

export interface ImportOptions {
  readonly run: Run
  /** Called with the greatest id of a chunk, before rows with given ids are stored. */
  readonly reserveIds: ((collection: string, lastId: number) => Promise<void>) | undefined
  readonly collection: Collection
  readonly principal: Principal
  readonly reader: RowReader
  readonly progress: ProgressRecord
  /** Checks every row without changing anything. */
  readonly isDryRun: boolean
  /** Whether rows whose unique values are taken are skipped. */
  readonly skipsConflicts: boolean
  /** Called for each invalid row, before the position after it is stored. Undefined: the first one stops the import. */
  readonly onRejected: ((rejected: RejectedRow) => void) | undefined
  /** Called after each chunk. Returns whether to continue. */
  readonly onChunk: (position: ImportPosition) => boolean
}

const maxChunkRows = 500
const maxChunkBytes = 1_048_576
/** The maximum number of cached shapes. */
const maxShapes = 1000

type ReadRow = { readonly record: RawRecord } & (
  | { readonly row: ImportRow }
  | { readonly reasons: readonly string[] }
  | { readonly row: undefined }
)

/** An entry with a row, and its index in the chunk. */
interface PlannedCreate {
  readonly chunkIndex: number
  readonly plan: Plan<CreateShape>
  readonly row: ImportRow
}

/** The progress of a transaction's steps. The store reports only that they failed, not where or why. */
interface StepProgress {
  /** The index of the plan that is running; -1: none. */
  index: number
  /** Why the steps rolled back the transaction themselves. */
  rolledBackBy: 'dry run' | 'other import' | undefined
}

/** An invalid row stopped the import; the rows before it are stored. */
export class ImportStopped extends Error {
  /** All invalid rows of the same chunk. */
  readonly rejected: readonly RejectedRow[]
  readonly position: ImportPosition

  constructor(rejected: readonly RejectedRow[], position: ImportPosition) {
    super('a row is invalid')
    this.rejected = rejected
    this.position = position
  }
}

export class Importer {
  readonly #options: ImportOptions
  readonly #shapes = new Map<string, CreateShape>()
  readonly #isSequential: boolean
  /** The hash of everything before the chunk. */
  #hash: Hash = createHash('sha256')
  #bytes = 0
  #counts: ImportCounts = { imported: 0, skipped: 0, rejected: 0 }
  #chunk: ReadRow[] = []
  #chunkBytes = 0
  /** The number of bytes at the beginning that an earlier run has processed. */
  readonly #doneBytes: number

  constructor(options: ImportOptions) {
    this.#options = options
    this.#isSequential = needsEarlierRows(options.collection, options.principal)
    const { position } = options.progress
    this.#doneBytes = position?.bytes ?? 0
    if (position) this.#counts = position
  }

  /** Returns the final position, whose `isDone` is false if `onChunk` stopped the import. */
  async run(batches: AsyncIterable<readonly RawRecord[]>): Promise<ImportPosition> {
    for await (const records of batches) {
      for (const record of records) {
        this.#add(record)
        if (this.#chunk.length < maxChunkRows && this.#chunkBytes < maxChunkBytes) continue
        if (!(await this.#finishChunk(false))) return this.#position(false)
      }
    }
    await this.#finishChunk(true)
    return this.#position(true)
  }

  #add(record: RawRecord): void {
    const isDone = this.#bytes + this.#chunkBytes < this.#doneBytes
    if (!isDone) {
      this.#chunk.push(this.#entry(record))
      this.#chunkBytes += record.bytes.length
      return
    }
    // A resumed import still needs the header.
    if (this.#bytes === 0) this.#entry(record)
    this.#skip(record)
  }

  #skip({ bytes }: RawRecord): void {
    this.#hash.update(bytes)
    this.#bytes += bytes.length
  }

  #entry(record: RawRecord): ReadRow {
    try {
      return { record, row: this.#options.reader.read(record) }
    } catch (error) {
      const reasons = reasonsIn(error)
      if (reasons === undefined) throw error
      return { record, reasons }
    }
  }

  async #finishChunk(isLast: boolean): Promise<boolean> {
    const chunk = this.#chunk
    this.#chunk = []
    this.#chunkBytes = 0
    const rejected = chunk.flatMap(entry =>
      'reasons' in entry ? [{ ...entry, line: entry.record.line }] : [],
    )
    if (rejected.length > 0 && !this.#options.onRejected) await this.#stop(chunk, rejected)
    for (const row of rejected) this.#reject(row)
    await this.#store(chunk, this.#planned(chunk), isLast)
    return this.#options.onChunk(this.#position(isLast))
  }

  async #stop(chunk: readonly ReadRow[], rejected: readonly RejectedRow[]): Promise<never> {
    const valid = chunk.slice(
      0,
      chunk.findIndex(entry => 'reasons' in entry),
    )
    if (valid.some(entry => 'row' in entry && entry.row))
      await this.#store(valid, this.#planned(valid), false)
    throw new ImportStopped(rejected, this.#position(false))
  }

  #planned(chunk: readonly ReadRow[]): readonly PlannedCreate[] {
    return chunk.flatMap((entry, chunkIndex) =>
      'row' in entry && entry.row ? [{ chunkIndex, row: entry.row, plan: this.#plan(entry.row) }] : [],
    )
  }

  /** Writes every row at most twice: the rows before a refused row are committed separately. */
  async #store(chunk: readonly ReadRow[], planned: readonly PlannedCreate[], isLast: boolean): Promise<void> {
    const failure = await this.#commit(planned, chunk, isLast)
    if (failure === undefined) return
    const { index, error } = failure
    const refused = planned[index]
    if (refused === undefined) throw error
    const before = chunk.slice(0, refused.chunkIndex)
    if (index > 0) await this.#store(before, planned.slice(0, index), false)
    else for (const { record } of before) this.#skip(record)
    this.#refuse(chunk[refused.chunkIndex], error)
    const rest = chunk.slice(refused.chunkIndex)
    const shifted = planned
      .slice(index + 1)
      .map(row => ({ ...row, chunkIndex: row.chunkIndex - refused.chunkIndex }))
    await this.#store(rest, shifted, isLast)
  }

  #refuse(entry: ReadRow | undefined, error: ApiError): void {
    if (entry === undefined) throw error
    if (error.code === 'CONFLICT' && this.#options.skipsConflicts) {
      this.#counts = { ...this.#counts, skipped: this.#counts.skipped + 1 }
      return
    }
    const { record } = entry
    this.#reject({ record, line: record.line, reasons: reasonsIn(error) ?? [error.message] })
  }

  #reject(rejected: RejectedRow): void {
    if (!this.#options.onRejected) throw new ImportStopped([rejected], this.#position(false))
    this.#options.onRejected(rejected)
    this.#counts = { ...this.#counts, rejected: this.#counts.rejected + 1 }
  }

  /** Commits the rows with the position after the chunk. If a row is refused, changes nothing and returns its index. */
  async #commit(
    planned: readonly PlannedCreate[],
    chunk: readonly ReadRow[],
    isLast: boolean,
  ): Promise<{ readonly index: number; readonly error: ApiError } | undefined> {
    const { run, principal, isDryRun, progress } = this.#options
    const hash = this.#hash.copy()
    for (const { record } of chunk) hash.update(record.bytes)
    const counts = { ...this.#counts, imported: this.#counts.imported + planned.length }
    const bytes = this.#bytes + chunk.reduce((sum, { record }) => sum + record.bytes.length, 0)
    const position = { ...counts, bytes, hash: hash.copy().digest('hex'), isDone: isLast }
    const { change, stored } = progress.moveTo(position)
    const stepProgress: StepProgress = { index: -1, rolledBackBy: undefined }
    try {
      await this.#reserveIds(planned)
      const plans = planned.map(({ plan }) => plan)
      await run.transaction({
        serial: undefined,
        principal,
        steps: () => steps(plans, this.#isSequential, isDryRun ? undefined : change, stepProgress),
      })
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status < 500 && stepProgress.index >= 0
      if (isRefused) return { index: stepProgress.index, error }
      if (stepProgress.rolledBackBy === 'other import') throw overtakenFailure()
      if (stepProgress.rolledBackBy === undefined) throw error
    }
    stored()
    this.#hash = hash
    this.#bytes = bytes
    this.#counts = counts
    return undefined
  }

  /** Ensures that items that are created later do not get ids from the file. */
  async #reserveIds(planned: readonly PlannedCreate[]): Promise<void> {
    const { reserveIds, collection, isDryRun } = this.#options
    if (isDryRun) return
    let lastId = 0
    for (const { row } of planned) lastId = Math.max(lastId, Number(row.readOnly.id ?? 0))
    if (lastId > 0) await reserveIds?.(collection.name, lastId)
  }

  #plan({ values, readOnly }: ImportRow): Plan<CreateShape> {
    const { name, fields } = this.#options.collection
    // In the model's order: rows with the same fields share a shape.
    const set = [...fields.keys()].filter(field => Object.hasOwn(values, field))
    const computed = [...fields.keys()].filter(field => Object.hasOwn(readOnly, field))
    const key = `${set.join(' ')}|${computed.join(' ')}`
    const cached = this.#shapes.get(key)
    const shape = cached ?? createShape(name, set, computed)
    // A hostile file may have a different set of fields in every row.
    if (!cached && this.#shapes.size < maxShapes) this.#shapes.set(key, shape)
    const args = [...set.map(field => values[field]), ...computed.map(field => readOnly[field])]
    return { shape, args: args.map(value => value ?? null) }
  }

  #position(isDone: boolean): ImportPosition {
    const hash = this.#hash.copy().digest('hex')
    return { ...this.#counts, bytes: this.#bytes, hash, isDone }
  }
}

/** Whether a row may depend on an earlier one: by a relation, or by an access rule. */
function needsEarlierRows({ relations, name }: Collection, { access }: Principal): boolean {
  const refersToItself = [...relations.values()].some(({ kind, target }) => kind === 'one' && target === name)
  return refersToItself || !access.system
}

function createShape(collection: string, set: readonly string[], computed: readonly string[]): CreateShape {
  const assign = (field: string, param: number): Assignment => ({ field, param })
  return {
    kind: 'create',
    collection,
    set: set.map(assign),
    computed: computed.map((field, index) => assign(field, set.length + index)),
    select: selected(['id']),
    lenient: true,
  }
}

function overtakenFailure(): Failure {
  return new Failure('Another import of the same file is running. It continues; this one has stopped.')
}

function* oneByOne(plans: readonly Plan<CreateShape>[], stepProgress: StepProgress): ProgramSteps<void> {
  for (const [index, plan] of plans.entries()) {
    stepProgress.index = index
    yield plan
  }
  stepProgress.index = -1
}

function independentWrites(
  plans: readonly Plan<CreateShape>[],
  stepProgress: StepProgress,
): IndependentWrites<ProgramPlan> {
  return {
    kind: 'independentWrites',
    writes: plans,
    onFailure(index) {
      stepProgress.index = index
    },
  }
}

/** `change` is undefined in a dry run. */
function* steps(
  plans: readonly Plan<CreateShape>[],
  isSequential: boolean,
  change: RecordChange | undefined,
  stepProgress: StepProgress,
): ProgramSteps<void> {
  stepProgress.rolledBackBy = undefined
  stepProgress.index = -1
  if (isSequential) yield* oneByOne(plans, stepProgress)
  else yield independentWrites(plans, stepProgress)
  const isStored = change !== undefined && (yield change)
  if (isStored) return
  stepProgress.rolledBackBy = change === undefined ? 'dry run' : 'other import'
  throw new ApiError('CONFLICT')
}
