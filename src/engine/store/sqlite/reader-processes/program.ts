/**
 * A reader process: answers reads of one SQLite file, one job at a time, and never writes to the file. It only ends by being
 * killed, even during a statement: by the pool, or by its own watch thread when the service has ended.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { ResultRows } from '../../values.ts'
import { identityOf } from '../file/identity.ts'
import { addFunctions } from '../file/open.ts'
import { AnswerSize } from '../read/answer-size.ts'
import {
  lifelineDescriptor,
  type ReaderFailure,
  type ReaderJob,
  type ReaderPiece,
  type ReaderProcessOptions,
  type ReaderReply,
} from './messages.ts'
import { sendPieces } from './pieces.ts'

/** How many prepared statements are kept. */
const maxStatements = 200

/** Runs in a separate thread, because statements block the event loop of this one. Blocks until the pipe ends. */
const watchScript = `require('node:fs').readSync(${lifelineDescriptor}, Buffer.alloc(1)); process.kill(process.pid, 'SIGKILL')`

class MovedFile extends Error {}
class TooLarge extends Error {}

class FileReader {
  readonly #options: ReaderProcessOptions
  readonly #statements = new Map<string, StatementSync>()
  #database: DatabaseSync | undefined
  #answerSize: AnswerSize | undefined

  constructor(options: ReaderProcessOptions) {
    this.#options = options
  }

  run({ queries, maxAnswerBytes = Number.POSITIVE_INFINITY }: ReaderJob): readonly ResultRows[] {
    this.#database ??= this.#open()
    const database = this.#database
    this.#answerSize ??= new AnswerSize(database)
    database.exec('BEGIN')
    try {
      const results = this.#answerSize.within(maxAnswerBytes, () =>
        queries.map(({ sql, values }): ResultRows => this.#statement(database, sql).all(...values) as never),
      )
      if (results === undefined) throw new TooLarge('the answer is too large')
      return results
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK')
    }
  }

  /** Checks the identity before and after, because the file may be replaced at any time. */
  #open(): DatabaseSync {
    const { file, busyTimeoutMs } = this.#options
    this.#requireSameFile()
    const database = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs })
    // `temp_store` is not MEMORY, unlike in the service: sorted rows may not fit in memory.
    database.exec('PRAGMA query_only = ON; PRAGMA cache_size = -16384; PRAGMA trusted_schema = OFF')
    addFunctions(database)
    // The first read opens the log.
    database.exec('SELECT 1 FROM sqlite_schema LIMIT 1')
    this.#requireSameFile()
    return database
  }

  #requireSameFile(): void {
    const isSame = this.#options.identities.every(([path, identity]) => identityOf(path) === identity)
    if (!isSame) throw new MovedFile('the database file is not the one that the service has open')
  }

  #statement(database: DatabaseSync, sql: string): StatementSync {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) return cached
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    this.#statements.set(sql, statement)
    return statement
  }
}

function failureOf(cause: unknown): ReaderFailure {
  const message = cause instanceof Error ? cause.message : String(cause)
  const code = cause instanceof Error && 'errcode' in cause ? cause.errcode : undefined
  const errcode = typeof code === 'number' ? code : undefined
  return { message, errcode, isMoved: cause instanceof MovedFile, isTooLarge: cause instanceof TooLarge }
}

/** Processor time, not elapsed time: a process with low priority also waits. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

function replyTo(reader: FileReader, job: ReaderJob): ReaderReply {
  const { id } = job
  const cpuBefore = process.cpuUsage()
  try {
    const results = reader.run(job)
    const rows = { results, ms: cpuMs(cpuBefore) }
    return { id, rows: sendPieces(rows, piece => process.send?.({ id, piece } satisfies ReaderPiece)) }
  } catch (cause) {
    return { id, failure: failureOf(cause) }
  }
}

function main(): void {
  // Terminals and supervisors signal the whole process group: running reads are still answered.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  new Worker(watchScript, { eval: true, execArgv: [] }).unref()
  const reader = new FileReader(JSON.parse(process.argv[2] ?? '') as ReaderProcessOptions)
  process.on('message', (job: ReaderJob) => {
    process.send?.(replyTo(reader, job))
  })
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
}

main()
