/** `portico import`: the rows of a CSV or NDJSON file as new items of a collection. */
import { appendFileSync, statSync } from 'node:fs'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { printable } from '../../../base/printable.ts'
import { IdReservation } from '../../../engine/store/postgres/id-reservation.ts'
import { managedCollections } from '../../../model/builtin/managed.ts'
import type { Collection } from '../../../model/model.ts'
import { isPostgres } from '../../../server/config/database.ts'
import { counted } from '../counted.ts'
import { databaseOptions, type OpenedDatabase, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { Reporter } from '../progress.ts'
import { Importer, ImportStopped, type RejectedRow } from '../transfer/importer.ts'
import { type ImportInput, openInput } from '../transfer/input.ts'
import { collectionOf, format, formatOf, principalOf } from '../transfer/options.ts'
import { findProgress, type ImportPosition, ProgressRecord } from '../transfer/progress-record.ts'
import { splitRecords } from '../transfer/records.ts'
import { RowReader } from '../transfer/rows.ts'
import type { Command, ParsedArgs } from './commands.ts'

/** The maximum number of invalid rows that are listed; the others are only counted. */
const maxListed = 100

/** An import, apart from its database. */
interface Task {
  readonly collection: Collection
  readonly principal: Principal
  readonly input: ImportInput
  readonly reader: RowReader
  readonly progress: ProgressRecord
  readonly faults: Faults
}

/** Escaped, because the reasons may quote the file. */
function faultLine({ line, reasons }: RejectedRow): string {
  return printable(`line ${line}: ${reasons.join(' ')}`)
}

/** Lists invalid rows, or writes them to a file. */
class Faults {
  readonly #listed: RejectedRow[] = []
  readonly #file: string | undefined
  readonly #prints: boolean
  #count = 0

  /** `prints`: without a file, each row is written to standard error at once. */
  constructor(file: string | undefined, prints: boolean) {
    this.#file = file
    this.#prints = prints
  }

  add(rejected: RejectedRow): void {
    this.#count += 1
    if (this.#file !== undefined) appendRejected(this.#file, rejected)
    else if (this.#prints) console.error(faultLine(rejected))
    else if (this.#listed.length < maxListed) this.#listed.push(rejected)
  }

  get count(): number {
    return this.#count
  }

  get text(): string {
    if (this.#file !== undefined) return `  ${this.#file} lists them.`
    const more = this.#count - this.#listed.length
    const sorted = this.#listed.toSorted((a, b) => a.line - b.line)
    const lines = sorted.map(rejected => `  ${faultLine(rejected)}`)
    return [...lines, ...(more > 0 ? [`  and ${counted(more, 'row')} more`] : [])].join('\n')
  }
}

function appendRejected(file: string, { line, reasons, record }: RejectedRow): void {
  const row = record.bytes.toString('utf8').replace(/\r?\n$/, '')
  try {
    appendFileSync(file, `${JSON.stringify({ line, reasons, row })}\n`, { mode: 0o600 })
  } catch (error) {
    throw new Failure(`Cannot write to ${file}: ${(error as Error).message}.`)
  }
}

/** Throws a `Failure` for a collection whose items have secrets, or are created by Portico alone. */
function requireImportable(collection: Collection): void {
  const { name, fields } = collection
  const secret = [...fields.values()].find(field => field.internal && !field.optional && !field.default)
  if (!secret && !managedCollections.has(name)) return
  throw new Failure(
    `${name} cannot be imported: Portico creates its items itself, with secrets that no file contains.`,
    2,
  )
}

/** Rejected rows must not be appended to the file that is being read. */
function isSameFile(path: string, otherPath: string): boolean {
  const [first, second] = [path, otherPath].map(file =>
    statSync(file, { bigint: true, throwIfNoEntry: false }),
  )
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}

function requireCompatible(args: ParsedArgs): void {
  const exclude = (option: string, other: string, reason: string) => {
    const areBothSet = [option, other].every(name => args.flag(name) || args.text(name) !== undefined)
    if (areBothSet) throw new Failure(`--${option} and --${other} exclude each other: ${reason}.`, 2)
  }
  exclude('keep-ids', 'as', 'no user may choose ids')
  const conflict = args.text('on-conflict')
  if (conflict !== undefined && conflict !== 'skip') throw new Failure('--on-conflict accepts only skip.', 2)
  const [rejects, [, file]] = [args.text('rejects'), args.arguments]
  if (rejects === undefined) return
  if (!args.flag('skip-invalid')) throw new Failure('--rejects requires --skip-invalid.', 2)
  if (file !== undefined && isSameFile(rejects, file)) {
    throw new Failure('--rejects must not be the file that is imported.', 2)
  }
}

async function taskOf(
  opened: OpenedDatabase,
  args: ParsedArgs,
  input: ImportInput,
  file: string,
): Promise<Task> {
  const format = formatOf(args, file)
  const collection = collectionOf(opened.model, args.arguments[0] ?? '')
  requireImportable(collection)
  requireCompatible(args)
  const isDryRun = args.flag('dry-run')
  const principal = await principalOf(args, opened.run)
  const source = { collection: collection.name, format }
  const restarts = args.flag('restart')
  const progress =
    restarts && isDryRun
      ? new ProgressRecord(source)
      : await findProgress(opened.stored, input, source, restarts)
  const reader = new RowReader(collection, format, args.flag('keep-ids'))
  const faults = new Faults(args.text('rejects'), args.flag('skip-invalid') && !isDryRun)
  return { collection, principal, input, reader, progress, faults }
}

async function importFrom(opened: OpenedDatabase, args: ParsedArgs): Promise<string> {
  const file = args.arguments[1] ?? '-'
  const input = openInput(file)
  try {
    const task = await taskOf(opened, args, input, file)
    const { position } = task.progress
    if (position?.isDone) {
      return `This file was already imported: ${counted(position.imported, 'row')}. --restart imports it again.\n`
    }
    if (position && position.imported > 0)
      console.error(`Resuming after ${counted(position.imported, 'row')} that are already stored.`)
    return await importWith(opened, args, task)
  } finally {
    input.close()
  }
}

async function importWith(opened: OpenedDatabase, args: ParsedArgs, task: Task): Promise<string> {
  const { database, bodyLimit } = opened.settings
  const ids = args.flag('keep-ids') && isPostgres(database) ? await IdReservation.open(database) : undefined
  const signal = stopSignal()
  try {
    const importer = importerOf(opened, args, task, ids, signal)
    const { input, reader } = task
    const position = await importer.run(splitRecords(input.all(), reader.format, bodyLimit))
    return args.flag('dry-run') ? dryRunText(task, position) : doneText(task, position)
  } catch (error) {
    throw importFailure(error)
  } finally {
    warnAboutIgnored(task.reader)
    signal.end()
    await ids?.close()
  }
}

function importerOf(
  { run }: OpenedDatabase,
  args: ParsedArgs,
  { collection, principal, input, reader, progress, faults }: Task,
  ids: IdReservation | undefined,
  signal: { readonly isGiven: boolean },
): Importer {
  const isDryRun = args.flag('dry-run')
  const skipsInvalid = isDryRun || args.flag('skip-invalid')
  const reporter = process.stderr.isTTY ? new Reporter(process.stderr) : undefined
  return new Importer({
    run,
    reserveIds: ids && ((name, last) => ids.reserve(name, last)),
    collection,
    principal,
    reader,
    progress,
    isDryRun,
    skipsConflicts: args.text('on-conflict') === 'skip',
    onRejected: skipsInvalid ? rejected => faults.add(rejected) : undefined,
    onChunk({ imported, bytes, isDone }) {
      const share = input.sizeBytes === undefined ? undefined : bytes / Math.max(1, input.sizeBytes)
      reporter?.report({ doing: 'import', table: collection.name, done: imported, of: 0, share })
      if (isDone || signal.isGiven) reporter?.end()
      return !signal.isGiven
    },
  })
}

/** The first SIGINT or SIGTERM lets the current chunk finish; a second one ends the process at once. */
function stopSignal() {
  let isGiven = false
  const stop = () => {
    isGiven = true
    end()
  }
  const end = () => process.off('SIGINT', stop).off('SIGTERM', stop)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return {
    get isGiven() {
      return isGiven
    },
    end,
  }
}

function warnAboutIgnored({ ignored }: RowReader): void {
  if (ignored.size === 0) return
  const [are, were, them] = ignored.size === 1 ? ['is', 'was', 'it'] : ['are', 'were', 'them']
  console.error(
    `${[...ignored].join(', ')} ${are} read-only and ${were} ignored; --keep-ids imports ${them}.`,
  )
}

function dryRunText({ faults }: Task, { imported, skipped }: ImportPosition): string {
  const summary = `${counted(imported, 'row')} can be imported${skippedText(skipped)}`
  if (faults.count === 0) return `${summary}. Nothing was changed.\n`
  throw new Failure(
    `${counted(faults.count, 'row')} cannot be imported, ${summary}. Nothing was changed.\n${faults.text}`,
  )
}

function skippedText(skipped: number): string {
  return skipped === 0 ? '' : `, ${counted(skipped, 'row')} skipped because of conflicts`
}

function doneText({ collection }: Task, { imported, skipped, rejected, isDone }: ImportPosition): string {
  const invalid = rejected === 0 ? '' : `, ${counted(rejected, 'invalid row')} skipped`
  const summary = `${counted(imported, 'row')} of ${collection.name} imported${skippedText(skipped)}${invalid}.`
  if (isDone) return `${summary}\n`
  throw new Failure(`Stopped: ${summary} Run the same command to resume.`)
}

function importFailure(error: unknown): unknown {
  if (error instanceof ImportStopped) return stoppedFailure(error)
  if (!(error instanceof ApiError) || error.code !== 'UNAVAILABLE') return error
  return new Failure(`${error.message} Run the same command to resume the import.`)
}

function stoppedFailure({ rejected, position }: ImportStopped): Failure {
  const faults = new Faults(undefined, false)
  for (const row of rejected) faults.add(row)
  const { imported } = position
  const before =
    imported === 0
      ? 'Nothing was imported'
      : `${counted(imported, 'row')} before it ${imported === 1 ? 'was' : 'were'} imported`
  return new Failure(
    `The import stopped at line ${rejected[0]?.line}. ${before}. Correct the file and run the same command to resume, or add --skip-invalid.\n${faults.text}`,
  )
}

export const command: Command = {
  arguments: ['collection', 'file?'],
  options: {
    format,
    'dry-run': { value: undefined, sentence: 'Check every row without changing anything.' },
    'skip-invalid': {
      value: undefined,
      sentence: 'Skip invalid rows. By default, the first one stops the import.',
    },
    rejects: {
      value: 'file',
      sentence: 'The file for skipped invalid rows, with reasons. Default: standard error.',
    },
    'on-conflict': { value: 'skip', sentence: 'Skip rows whose unique values are taken.' },
    'keep-ids': {
      value: undefined,
      sentence: 'Import id, created_at and other read-only fields.',
    },
    as: {
      value: 'email',
      sentence: 'Import with the rights of this user. By default, no access rule applies.',
    },
    restart: {
      value: undefined,
      sentence: 'Start from the first row, even if the file was already imported.',
    },
    ...databaseOptions,
  },
  run: args => withDatabase(args, opened => importFrom(opened, args)),
}
