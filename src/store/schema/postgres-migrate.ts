/** Brings a PostgreSQL database to a model, beside a service that runs and other processes that start. */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Model } from '../../model/model.ts'
import { diff, type Step } from './diff.ts'
import {
  type Catalog,
  hasOwnTables,
  leftovers,
  missingColumns,
  readCatalog,
  type Unfinished,
  unfinished,
} from './postgres-catalog.ts'
import { addConstraint, createSchema, ownStatements } from './postgres-ddl.ts'
import { catchUp, type Filled, fillSearch } from './postgres-search.ts'
import {
  type FoundSecurity,
  fingerprintIn,
  readSecurity,
  requireRestrained,
  securitySql,
  withSecurity,
} from './postgres-security.ts'
import {
  type PostgresSql,
  type Preparation,
  postgresSteps,
  preparationSql,
  validate,
} from './postgres-steps.ts'
import { destroys, isHalfCopied, lacks, MigrationError, notByItself } from './refusal.ts'
import { type Schema, schemaOf } from './tables.ts'

/** The statements that make an empty PostgreSQL database for the model. */
export function postgresSchemaSql(model: Model, isLocked = false): string {
  const security = isLocked ? securitySql(model) : []
  return `${[...createSchema(schemaOf(model)), ...security].join(';\n\n')};\n`
}

/** What a database is brought to. */
interface Aim {
  readonly model: Model
  /** Whether policies lock the rows; undefined: as it is. */
  readonly isLocked: boolean | undefined
}

/** The steps that bring the database to `model`; none when it is there. `isLocked`: as in `applyPostgres`. */
export function planPostgres(url: string, model: Model, isLocked?: boolean): Promise<readonly Step[]> {
  return connected(url, async client => {
    const { left, steps } = planned(await stateOf(client), { model, isLocked })
    return [...left.map(leftStep), ...steps.map(shown)]
  })
}

export interface ApplyOptions {
  readonly allowDestructive: boolean
  /** Whether policies lock the rows (see `row-security.ts`). Left out: as they do or do not now. */
  readonly isLocked?: boolean
}

/** Brings the database to `model` and returns the steps that were applied. Throws a `MigrationError`. */
export function applyPostgres(
  url: string,
  model: Model,
  { allowDestructive, isLocked }: ApplyOptions,
): Promise<readonly Step[]> {
  return connected(url, client =>
    locked(client, () =>
      migrate(client, { model, isLocked }, steps => {
        const destructive = steps.filter(step => step.destructive)
        if (destructive.length > 0 && !allowDestructive) throw destroys(destructive)
      }),
    ),
  )
}

/**
 * What a start does: makes an empty database, applies what only adds when `autoMigrate`, and throws a
 * `MigrationError` for everything else. Of several that start at once, one does it and the others wait.
 */
export function preparePostgres(
  url: string,
  model: Model,
  autoMigrate: boolean,
  isLocked?: boolean,
): Promise<void> {
  const aim = { model, isLocked }
  return connected(url, async client => {
    if (isLocked) await requireRestrained(client)
    if (await isPrepared(client, aim)) return
    await locked(client, () =>
      migrate(client, aim, (todo, isNew) => {
        const stopped = autoMigrate ? todo.filter(step => !step.additive) : todo
        if (!isNew && stopped.length > 0) throw notByItself(stopped)
      }),
    )
  })
}

/** Whether nothing is to be done. What is seen while another node migrates may not fit together: not then. */
async function isPrepared(client: pg.Client, aim: Aim): Promise<boolean> {
  const state = await stateOf(client)
  try {
    return isDone(state, planned(state, aim))
  } catch (error) {
    if (error instanceof MigrationError) return false
    throw error
  }
}

type PostgresStep = Step<PostgresSql>

interface State {
  /** Undefined: Portico has made nothing here yet. */
  readonly stored: Schema | undefined
  readonly catalog: Catalog
  readonly security: FoundSecurity
}

async function stateOf(client: pg.Client): Promise<State> {
  const catalog = await readCatalog(client)
  const none = { objects: [], fingerprint: undefined }
  if (!catalog.tables.has('_portico')) return { stored: undefined, catalog, security: none }
  const { rows } = await client.query(`SELECT "key", "value" FROM "_portico"`)
  const values = new Map(rows.map(row => [row.key, String(row.value)]))
  if (values.has('copy')) throw isHalfCopied()
  const text = values.get('schema')
  const security = await readSecurity(client, fingerprintIn(values))
  return { stored: text === undefined ? undefined : (JSON.parse(text) as Schema), catalog, security }
}

interface Plan {
  readonly left: readonly Unfinished[]
  readonly steps: readonly PostgresStep[]
}

function planned({ stored = { tables: [] }, catalog, security }: State, { model, isLocked }: Aim): Plan {
  const missing = missingColumns(catalog, stored)
  if (missing.length > 0) throw lacks(missing)
  const after = schemaOf(model)
  const steps = diff(stored, after, postgresSteps(stored, after))
  return { left: unfinished(catalog, stored), steps: withSecurity(steps, security, model, isLocked) }
}

function isDone({ stored, catalog }: State, { left, steps }: Plan): boolean {
  return stored !== undefined && left.length === 0 && steps.length === 0 && hasOwnTables(catalog)
}

function leftStep({ sentence, sql }: Unfinished): Step {
  return { sentence, sql, destructive: false, additive: true }
}

function shown({ sql, ...step }: PostgresStep): Step {
  const { prepare, before, alter, after, finish } = sql
  return { ...step, sql: [...prepare.flatMap(preparationSql), ...before, ...alter, ...after, ...finish] }
}

type Check = (steps: readonly Omit<Step, 'sql'>[], isNew: boolean) => void

async function migrate(client: pg.Client, aim: Aim, check: Check): Promise<readonly Step[]> {
  if (aim.isLocked) await requireRestrained(client)
  const state = await stateOf(client)
  const plan = planned(state, aim)
  // Another process has done it meanwhile.
  if (isDone(state, plan)) return []
  const { left, steps } = plan
  check([...left.map(leftStep), ...steps], state.stored === undefined)
  await clean(client)
  await finish(client, left)
  const schema = schemaOf(aim.model)
  try {
    const filled = await prepare(client, steps)
    await transact(client, steps, filled, schema)
  } catch (error) {
    await clean(client).catch(() => {})
    throw error
  }
  await finish(client, unfinished(await readCatalog(client), schema))
  return [...left.map(leftStep), ...steps.map(shown)]
}

async function clean(client: pg.Client): Promise<void> {
  for (const text of leftovers(await readCatalog(client))) await patiently(client, text)
}

async function finish(client: pg.Client, left: readonly Unfinished[]): Promise<void> {
  for (const { sentence, sql } of left) {
    try {
      for (const text of sql) await patiently(client, text)
    } catch (cause) {
      throw new MigrationError(
        `The tables fit the model, but this is not finished: ${sentence} (${reasonOf(cause)}) Mend it and run \`portico migrate --apply\` again.`,
        { cause },
      )
    }
  }
}

async function prepare(client: pg.Client, steps: readonly PostgresStep[]): Promise<readonly Filled[]> {
  const filled: Filled[] = []
  for (const { sentence, sql } of steps) {
    for (const preparation of sql.prepare) {
      await step(sentence, async () => {
        const done = await prepareOne(client, preparation)
        if (done !== undefined) filled.push(done)
      })
    }
  }
  return filled
}

async function prepareOne(client: pg.Client, preparation: Preparation): Promise<Filled | undefined> {
  switch (preparation.kind) {
    case 'index':
      await patiently(client, preparation.text)
      return undefined
    case 'constraint': {
      const { table, name, text } = preparation
      await patiently(client, addConstraint(table, name, text, ' NOT VALID'))
      await patiently(client, validate(table, name))
      return undefined
    }
    case 'search':
      return fillSearch(client, preparation)
  }
}

/** All or nothing, and given up soon where others hold a lock: what waits for one stops all who come after. */
async function transact(
  client: pg.Client,
  steps: readonly PostgresStep[],
  filled: readonly Filled[],
  schema: Schema,
): Promise<void> {
  await retried(async () => {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT}`)
      await client.query(ownStatements.join(';\n'))
      for (const each of filled) await catchUp(client, each)
      for (const part of ['before', 'alter', 'after'] as const) {
        for (const { sentence, sql } of steps) {
          if (sql[part].length > 0) await step(sentence, () => client.query(sql[part].join(';\n')))
        }
      }
      await storePostgresSchema(client, schema)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    }
  }, 'Nothing was changed: ')
}

/** Within the transaction. What nodes remember is read again: rows may have got other values. */
export async function storePostgresSchema(client: pg.Client, schema: Schema): Promise<void> {
  await client.query(
    `INSERT INTO "_portico" ("key", "value") VALUES ('schema', $1) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    [JSON.stringify(schema)],
  )
  await client.query(
    'INSERT INTO "_touched" ("xid", "names", "at") VALUES (pg_current_xact_id(), $1, extract(epoch FROM now()) * 1000)',
    [schema.tables.map(table => table.name).join('\n')],
  )
}

async function step(sentence: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (cause) {
    if (isLocked(cause)) throw cause
    const reason = reasonOf(cause)
    throw new MigrationError(`Nothing was changed. This step failed: ${sentence} (${reason})`, { cause })
  }
}

/** A statement of its own: `CONCURRENTLY` refuses a transaction, and only waits, without a lock that stops others. */
function patiently(client: pg.Client, text: string): Promise<void> {
  const timeout = text.includes(' CONCURRENTLY ') || text.includes(' VALIDATE ') ? 0 : LOCK_TIMEOUT
  return retried(async () => {
    await client.query(`SET lock_timeout = ${timeout}`)
    await client.query(text)
  })
}

/** In milliseconds. */
const LOCK_TIMEOUT = 500
const LOCK_TRIES = 40

/** `done`: what to say of what was done, when it is given up. */
async function retried(run: () => Promise<void>, done = ''): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (cause) {
      if (!isLocked(cause)) throw cause
      if (tries === LOCK_TRIES) {
        const reason = `others hold locks on the tables: ${reasonOf(cause)}`
        throw new MigrationError(`${done}${reason}. Try again when less is going on.`, { cause })
      }
      await wait(500 + Math.random() * 500)
    }
  }
}

/** lock_not_available, deadlock_detected. */
function isLocked(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && (cause.code === '55P03' || cause.code === '40P01')
}

function reasonOf(cause: unknown): string {
  if (cause instanceof pg.DatabaseError && cause.detail !== undefined)
    return `${cause.message}: ${cause.detail}`
  return cause instanceof Error ? cause.message : String(cause)
}

async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  try {
    return await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** A connection for as long as it takes. Rejects with a `MigrationError`. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'portico migrate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  // What breaks the connection is the answer to the statement under way, too.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw new MigrationError(`The database cannot be reached: ${reasonOf(cause)}.`, { cause })
  }
  const { rows } = await client
    .query(
      "SET portico.service = 'on'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning; SHOW server_encoding",
    )
    .then(results => (Array.isArray(results) ? results.at(-1) : results))
  const encoding = String(rows[0]?.server_encoding)
  if (encoding === 'UTF8') return client
  await client.end().catch(() => {})
  throw new MigrationError(`The database keeps texts as ${encoding}: make one with the encoding UTF8.`)
}

/** The upper half of the keys of our advisory locks. */
const LOCK = '20591, 1'
const LOCK_WAIT = 10 * 60 * 1000

/**
 * Asks again and again: a statement that waited for the lock would hold a snapshot, for which the
 * `CREATE INDEX CONCURRENTLY` of whoever has it would wait.
 */
async function locked<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  const until = Date.now() + LOCK_WAIT
  while (!(await tryLock(client))) {
    if (Date.now() > until) {
      throw new MigrationError(
        'Another process has been migrating the database for ten minutes. Try again later.',
      )
    }
    await wait(50 + Math.random() * 50)
  }
  try {
    return await run()
  } finally {
    await client.query(`SELECT pg_advisory_unlock(${LOCK})`).catch(() => {})
  }
}

/** Takes the lock of whoever changes the tables, until the connection ends. False: somebody else has it. */
export async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${LOCK}) AS "locked"`)
  return rows[0]?.locked === true
}
