/**
 * One connection. Statements are sent in batches with one Sync after the last: they share a round trip and, outside
 * BEGIN, a transaction (https://www.postgresql.org/docs/15/protocol-flow.html, 55.2.3 and 55.2.4).
 */
import pg from 'pg'
import { withActors, withoutActors } from '../row-security/acting.ts'
import { AnswerTimeout, ConnectionLost, isTermination, NotSent, Unreachable } from './failure.ts'
import {
  type BoundStatement,
  type DataRows,
  type PipelineResult,
  type Statement,
  tooLargeRows,
} from './statement.ts'

export interface ConnectionOptions {
  readonly url: string
  /** How long the login may take, and then the settings, in milliseconds. */
  readonly connectTimeoutMs: number
  /** How long an answer may take before the connection is destroyed, in milliseconds. */
  readonly answerTimeoutMs: number
  /** The first statements of a new connection. */
  readonly settings: string
  /** Whether row security is on: statements then set on whose behalf they run. */
  readonly rowSecurity?: boolean
  /** Called when an answer takes long, but not too long yet. */
  readonly onSlow?: () => void
}

/** How many statements stay prepared on a connection. When more are needed, the least recently used ones are closed. */
const maxPrepared = 400

/** The time after which an answer counts as slow, in milliseconds. */
const slowAnswerMs = 1500

/** How long the server may take to close a connection, in milliseconds. */
const closeTimeoutMs = 1000

/** The part of the driver's connection that pipelines use. */
interface Channel {
  readonly stream: { cork(): void; uncork(): void; destroy(): void }
  parse(query: { readonly name: string; readonly text: string }): void
  describe(target: { readonly type: 'S'; readonly name: string }): void
  bind(values: { readonly statement: string; readonly values: readonly (string | null)[] }): void
  execute(): void
  close(target: { readonly type: 'S'; readonly name: string }): void
  sync(): void
  on(event: 'parseComplete', listener: () => void): void
}

export class Connection {
  readonly #client: pg.Client
  readonly #answerTimeoutMs: number
  readonly #rowSecurity: boolean
  readonly #prepared = new Map<string, Statement>()
  readonly #onClose = new Set<() => void>()
  readonly #onSlow: (() => void) | undefined
  #pipeline: Pipeline | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  private constructor(
    client: pg.Client,
    { answerTimeoutMs, rowSecurity = false, onSlow }: ConnectionOptions,
  ) {
    this.#client = client
    this.#answerTimeoutMs = answerTimeoutMs
    this.#rowSecurity = rowSecurity
    this.#onSlow = onSlow
    const onEnd = (): void => this.#onClosed()
    client.on('end', onEnd)
    client.on('error', onEnd)
    channelOf(client).on('parseComplete', () => this.#pipeline?.handleParseComplete())
  }

  /** Rejects with `ConnectionLost`. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const { url, connectTimeoutMs, settings } = options
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      application_name: 'portico',
    })
    // Without a listener, a connection that breaks now would end the process.
    client.on('error', () => {})
    let timer: NodeJS.Timeout | undefined
    try {
      await client.connect()
      // The driver's time limit ends with the login.
      timer = setTimeout(() => channelOf(client).stream.destroy(), connectTimeoutMs)
      await client.query(settings)
    } catch (cause) {
      client.end().catch(() => {})
      throw new Unreachable(cause)
    } finally {
      clearTimeout(timer)
    }
    return new Connection(client, options)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The server's process id of the session (https://www.postgresql.org/docs/15/protocol-flow.html, BackendKeyData). */
  get pid(): number {
    return (this.#client as unknown as { readonly processID: number }).processID
  }

  /** Calls the listener at once if the connection is already lost. */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener()
    else this.#onClose.add(listener)
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''))
  }

  /** Runs the queries in order, until one fails. One pipeline at a time. Never rejects. */
  run(queries: readonly BoundStatement[]): Promise<PipelineResult> {
    if (!this.#rowSecurity) return this.#run(queries)
    const sentQueries = withActors(queries)
    return this.#run(sentQueries).then(outcome => withoutActors(outcome, sentQueries))
  }

  #run(queries: readonly BoundStatement[]): Promise<PipelineResult> {
    const { promise, resolve } = Promise.withResolvers<PipelineResult>()
    if (this.#isClosed) {
      resolve({ results: [], tags: [], error: new NotSent('The connection to the database is closed.') })
      return promise
    }
    this.#startTimer()
    const pipeline = new Pipeline(queries, this.#prepared, outcome => {
      clearTimeout(this.#timer)
      this.#pipeline = undefined
      if (outcome.error instanceof ConnectionLost) this.destroy()
      resolve(outcome)
    })
    this.#pipeline = pipeline
    this.#client.query(pipeline as unknown as pg.Submittable)
    return promise
  }

  #startTimer(): void {
    const onSlow = this.#onSlow
    const remainingMs = this.#answerTimeoutMs - slowAnswerMs
    if (onSlow === undefined || remainingMs <= 0) {
      this.#timer = setTimeout(() => this.#timeOut(), this.#answerTimeoutMs)
      return
    }
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => this.#timeOut(), remainingMs)
      onSlow()
    }, slowAnswerMs)
  }

  #timeOut(): void {
    this.#pipeline?.handleError(new AnswerTimeout('The database has not answered in time.'))
    this.destroy()
  }

  /** Closes the connection without waiting for running statements. */
  destroy(): void {
    channelOf(this.#client).stream.destroy()
    this.#onClosed()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    // A silent server does not close its end.
    const timer = setTimeout(() => channelOf(this.#client).stream.destroy(), closeTimeoutMs)
    await this.#client.end().catch(() => {})
    clearTimeout(timer)
  }

  #onClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#pipeline?.handleError(new ConnectionLost('The connection to the database was lost.'))
    for (const listener of this.#onClose) listener()
  }
}

/** The driver's types lack this property. */
function channelOf(client: pg.Client): Channel {
  return (client as unknown as { readonly connection: Channel }).connection
}

/** The driver treats it as a query: it receives every message until the connection is ready again. */
class Pipeline {
  readonly #queries: readonly BoundStatement[]
  readonly #prepared: Map<string, Statement>
  readonly #settle: (outcome: PipelineResult) => void
  readonly #parsing: Statement[] = []
  readonly #results: DataRows[] = []
  readonly #tags: string[] = []
  #rows: DataRows[number][] = []
  /** Of the current rows, in characters. */
  #rowsLength = 0
  #isSettled = false

  constructor(
    queries: readonly BoundStatement[],
    prepared: Map<string, Statement>,
    settle: (outcome: PipelineResult) => void,
  ) {
    this.#queries = queries
    this.#prepared = prepared
    this.#settle = settle
  }

  submit(channel: Channel): void {
    channel.stream.cork()
    // First, since the server skips everything after a failure.
    for (const name of this.#evictPrepared()) channel.close({ type: 'S', name })
    const newStatements = new Set<Statement>()
    for (const { statement, values } of this.#queries) {
      const { name, text } = statement
      if (this.#prepared.delete(name)) this.#prepared.set(name, statement)
      else if (name === '' || !newStatements.has(statement)) {
        newStatements.add(statement)
        this.#parsing.push(statement)
        channel.parse({ name, text })
        channel.describe({ type: 'S', name })
      }
      channel.bind({ statement: name, values })
      channel.execute()
    }
    channel.sync()
    channel.stream.uncork()
  }

  /** The least recently used prepared statements beyond the maximum, without those of this pipeline. */
  #evictPrepared(): readonly string[] {
    if (this.#prepared.size + this.#queries.length <= maxPrepared) return []
    const used = new Set(this.#queries.map(query => query.statement.name))
    const newCount = [...used].filter(name => !this.#prepared.has(name)).length
    const surplusCount = this.#prepared.size + newCount - maxPrepared
    if (surplusCount <= 0) return []
    const unused = [...this.#prepared.keys()].filter(name => !used.has(name)).slice(0, surplusCount)
    for (const name of unused) this.#prepared.delete(name)
    return unused
  }

  /** A statement is prepared, even if it or another one fails later. */
  handleParseComplete(): void {
    const statement = this.#parsing.shift()
    if (statement !== undefined && statement.name !== '') this.#prepared.set(statement.name, statement)
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#current()?.statement.describe(fields.map(field => field.dataTypeID))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const query = this.#current()
    if (query === undefined) return
    const { statement, answerBound } = query
    // The last row may exceed the bound: it is read to know whether a page follows, and is not part of the answer.
    const isTooLarge = answerBound !== undefined && this.#rowsLength > answerBound.leftBytes
    if (isTooLarge) this.#rows = []
    else this.#rows.push(statement.row(fields))
    this.#rowsLength += fields[0]?.length ?? 0
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const isTooLarge = this.#rowsLength > 0 && this.#rows.length === 0
    this.#results.push(isTooLarge ? tooLargeRows : this.#rows)
    this.#tags.push(text)
    this.#rows = []
    this.#rowsLength = 0
  }

  handleReadyForQuery(): void {
    this.#end(undefined)
  }

  handleError(error: Error): void {
    const isFinal = error instanceof ConnectionLost || ('severity' in error && !isTermination(error))
    this.#end(isFinal ? error : new ConnectionLost(error.message, { cause: error }))
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  #current(): BoundStatement | undefined {
    return this.#queries[this.#results.length]
  }

  #end(error: Error | undefined): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#settle({ results: this.#results, tags: this.#tags, error })
  }
}
