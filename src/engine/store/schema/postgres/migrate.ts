/** Migrates a PostgreSQL database to a model, while a service runs and other processes start. */
import type pg from 'pg'
import type { Model } from '../../../../model/model.ts'
import { requireRestrained, securitySql } from '../../postgres/row-security/migration.ts'
import { checksAfter, type TableChecks } from '../data-checks.ts'
import type { MigrationStep } from '../diff.ts'
import {
  concurrentRowsError,
  dataLossError,
  falseIfRefused,
  invalidRowsError,
  MigrationError,
} from '../refusal.ts'
import { mayStartWithoutSteps, requireAdditive, type Start, withoutLostLimits } from '../start.ts'
import { type Schema, schemaOf, schemaText } from '../tables.ts'
import {
  cleanupStatements,
  missingOwnStatements,
  readCatalog,
  type Unfinished,
  unfinishedWork,
} from './catalog.ts'
import { dataFaults } from './data.ts'
import { addConstraint, createSchema, validate } from './ddl.ts'
import {
  asStep,
  type DatabaseState,
  isUpToDate,
  type MigrationTarget,
  type PostgresStep,
  planFor,
  stateOf,
  unfinishedStep,
} from './plan.ts'
import { lockTimeoutMs, reasonOf, runStep, runWithRetries, withRetries } from './retries.ts'
import { catchUp, type FilledSearch, fillSearch } from './search.ts'
import {
  announceWriter,
  inTransaction,
  tryWithMigrationLock,
  withConnection,
  withMigrationLock,
} from './session.ts'
import type { Preparation } from './sql.ts'

/** The statements that create the model's tables in an empty PostgreSQL database. */
export function postgresSchemaSql(model: Model, rowSecurity = false): string {
  const security = rowSecurity ? securitySql(model) : []
  return `${[...createSchema(schemaOf(model)), ...security].join(';\n\n')};\n`
}

/** The steps that migrate the database to `model`; empty if it fits. `rowSecurity`: as in `applyPostgres`. */
export function planPostgres(
  url: string,
  model: Model,
  rowSecurity?: boolean,
): Promise<readonly MigrationStep[]> {
  return withConnection(url, async client => {
    const { unfinished, steps } = planFor(await stateOf(client), { model, rowSecurity })
    const checked: MigrationStep[] = []
    for (const step of steps) {
      const faults = await dataFaults(client, model, checksIn([step]))
      checked.push(faults.length === 0 ? asStep(step) : { ...asStep(step), faults })
    }
    return [...unfinished.map(unfinishedStep), ...checked]
  })
}

export interface ApplyOptions {
  readonly allowDestructive: boolean
  /** Whether row security is switched on or off (see `policies.ts`). Omitted: it does not change. */
  readonly rowSecurity?: boolean
}

/** Migrates the database to `model` and returns the steps that were applied. Throws a `MigrationError`. */
export function applyPostgres(
  url: string,
  model: Model,
  { allowDestructive, rowSecurity }: ApplyOptions,
): Promise<readonly MigrationStep[]> {
  return withConnection(url, client =>
    withMigrationLock(client, () =>
      migrate(client, { model, rowSecurity }, steps => {
        const destructive = steps.filter(step => step.destructive)
        if (destructive.length > 0 && !allowDestructive) throw dataLossError(destructive)
      }),
    ),
  )
}

interface PostgresStart extends Start {
  readonly rowSecurity?: boolean
}

/**
 * For a start: creates the tables of an empty database, applies additive changes if it may, and throws a `MigrationError`
 * for everything else. If several processes start at once, one migrates the database and the others wait.
 */
export function preparePostgres(url: string, model: Model, start: PostgresStart): Promise<void> {
  const { autoMigrate, rowSecurity } = start
  const aim = { model, rowSecurity }
  return withConnection(url, async client => {
    if (rowSecurity) await requireRestrained(client)
    const state = await stateOf(client)
    if (isPrepared(state, aim, start)) {
      await releaseLimits(client, state, model)
      const hasLeftovers = autoMigrate && cleanupStatements(state.catalog).length > 0
      // The leftovers are of another migration, so this start does not fail because of them.
      if (hasLeftovers) await tryWithMigrationLock(client, () => clean(client)).catch(() => {})
      return
    }
    await withMigrationLock(client, () =>
      migrate(client, aim, (steps, isNew) => {
        if (!isNew) requireAdditive(steps, start)
      }),
    )
  })
}

/** See `withoutLostLimits`. */
async function releaseLimits(client: pg.Client, { stored }: DatabaseState, model: Model): Promise<void> {
  const kept = schemaOf(model)
  if (stored === undefined || withoutLostLimits(stored, kept) === undefined) return
  await withMigrationLock(client, async () => {
    const { stored: current = stored } = await stateOf(client)
    const value = schemaText(withoutLostLimits(current, kept) ?? current)
    await client.query(`UPDATE "_portico" SET "value" = $1 WHERE "key" = 'schema'`, [value])
  })
}

/** Whether no step is needed. */
function isPrepared(state: DatabaseState, aim: MigrationTarget, start: Start): boolean {
  return falseIfRefused(() => {
    const plan = planFor(state, aim)
    return (
      isUpToDate(state, { unfinished: [], steps: [] }) &&
      mayStartWithoutSteps([...plan.unfinished.map(unfinishedStep), ...plan.steps], start)
    )
  })
}

type CheckSteps = (steps: readonly Omit<MigrationStep, 'sql'>[], isNew: boolean) => void

async function migrate(
  client: pg.Client,
  aim: MigrationTarget,
  check: CheckSteps,
): Promise<readonly MigrationStep[]> {
  if (aim.rowSecurity) await requireRestrained(client)
  const state = await stateOf(client)
  const plan = planFor(state, aim)
  const { unfinished, steps } = plan
  const isNeeded = !isUpToDate(state, plan)
  if (isNeeded) check([...unfinished.map(unfinishedStep), ...steps], state.stored === undefined)
  await clean(client)
  // Another process has migrated the database in the meantime.
  if (!isNeeded) return []
  const checks = checksIn(steps)
  const faults = await dataFaults(client, aim.model, checks)
  if (faults.length > 0) throw invalidRowsError(faults)
  await finish(client, unfinished)
  const schema = schemaOf(aim.model)
  try {
    const filledSearches = await prepare(client, steps)
    if (state.stored !== undefined) await announceWriter(client)
    await transact(client, { own: missingOwnStatements(state.catalog), filledSearches, steps, schema })
  } catch (error) {
    await clean(client).catch(() => {})
    throw error
  }
  await finish(client, unfinishedWork(await readCatalog(client), schema))
  const newFaults = await dataFaults(client, aim.model, checks.map(checksAfter))
  if (newFaults.length > 0) throw concurrentRowsError(newFaults)
  return [...unfinished.map(unfinishedStep), ...steps.map(asStep)]
}

function checksIn(steps: readonly Pick<MigrationStep, 'checks'>[]): readonly TableChecks[] {
  return steps.flatMap(step => step.checks ?? [])
}

/** Removes the preparations of an unfinished migration. */
async function clean(client: pg.Client): Promise<void> {
  for (const text of cleanupStatements(await readCatalog(client))) await runWithRetries(client, text)
}

async function finish(client: pg.Client, work: readonly Unfinished[]): Promise<void> {
  for (const { sentence, sql } of work) {
    try {
      for (const texts of sql) await runWithRetries(client, ...texts)
    } catch (cause) {
      throw new MigrationError(
        `The tables fit the model, but this is not finished: ${sentence} (${reasonOf(cause)}) Fix it and run \`portico migrate --apply\` again.`,
        { cause },
      )
    }
  }
}

async function prepare(client: pg.Client, steps: readonly PostgresStep[]): Promise<readonly FilledSearch[]> {
  const filledSearches: FilledSearch[] = []
  for (const { sentence, sql } of steps) {
    for (const preparation of sql.prepare) {
      await runStep(sentence, async () => {
        const search = await prepareOne(client, preparation)
        if (search !== undefined) filledSearches.push(search)
      })
    }
  }
  return filledSearches
}

async function prepareOne(client: pg.Client, preparation: Preparation): Promise<FilledSearch | undefined> {
  switch (preparation.kind) {
    case 'index':
      await runWithRetries(client, ...preparation.texts)
      return undefined
    case 'constraint': {
      const { table, name, text } = preparation
      await runWithRetries(client, addConstraint(table, name, text, ' NOT VALID'))
      await runWithRetries(client, validate(table, name))
      return undefined
    }
    case 'search':
      return fillSearch(client, preparation)
  }
}

interface MigrationTransaction {
  /** The statements that create the missing ones of Portico's own tables, and their missing columns. */
  readonly own: readonly string[]
  readonly filledSearches: readonly FilledSearch[]
  readonly steps: readonly PostgresStep[]
  readonly schema: Schema
}

/** Gives up soon if others hold a lock, because later statements would queue behind this one. Then nothing is changed. */
async function transact(
  client: pg.Client,
  { own, filledSearches, steps, schema }: MigrationTransaction,
): Promise<void> {
  const work = async () => {
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    await runStep('Create the tables of Portico itself.', () => client.query(own.join(';\n')))
    for (const search of filledSearches) await catchUp(client, search)
    for (const part of ['before', 'alter', 'after'] as const) {
      for (const { sentence, sql } of steps) {
        if (sql[part].length > 0) await runStep(sentence, () => client.query(sql[part].join(';\n')))
      }
    }
    await storePostgresSchema(client, schema)
  }
  await withRetries(() => inTransaction(client, work), 'Nothing was changed: ')
}

/** Within the transaction. Invalidates the caches of all nodes: values of rows may have changed. */
export async function storePostgresSchema(client: pg.Client, schema: Schema): Promise<void> {
  await client.query(
    `INSERT INTO "_portico" ("key", "value") VALUES ('schema', $1) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    [schemaText(schema)],
  )
  await client.query(
    'INSERT INTO "_touched" ("xid", "names", "at") VALUES (pg_current_xact_id(), $1, extract(epoch FROM now()) * 1000)',
    [schema.tables.map(table => table.name).join('\n')],
  )
}
