/** Migrates a PostgreSQL database to a model, while a service runs and other processes start. */
import type pg from 'pg'
import type { Model } from '../../../model/model.ts'
import { requireRestrained, securitySql } from '../../postgres/row-security/migration.ts'
import { checksAfter, type TableChecks } from '../data-checks.ts'
import type { Step } from '../diff.ts'
import { MigrationError, preventedByRows, rowsWrittenMeanwhile, wouldLoseData } from '../refusal.ts'
import { fits, requireAdditive, type Start } from '../start.ts'
import { accepts, type Schema, schemaOf, schemaText } from '../tables.ts'
import { leftovers, missingOwnStatements, readCatalog, type Unfinished, unfinished } from './catalog.ts'
import { dataFaults } from './data.ts'
import { addConstraint, createSchema, validate } from './ddl.ts'
import { lockTimeoutMs, reasonOf, runWithRetries, step, withRetries } from './patience.ts'
import { type Aim, isDone, leftStep, type PostgresStep, planned, type State, shown, stateOf } from './plan.ts'
import { catchUp, type Filled, fillSearch } from './search.ts'
import { announce, tryWithMigrationLock, withConnection, withMigrationLock } from './session.ts'
import type { Preparation } from './sql.ts'

/** The statements that create the model's tables in an empty PostgreSQL database. */
export function postgresSchemaSql(model: Model, isLocked = false): string {
  const security = isLocked ? securitySql(model) : []
  return `${[...createSchema(schemaOf(model)), ...security].join(';\n\n')};\n`
}

/** The steps that migrate the database to `model`; empty if it fits. `isLocked`: as in `applyPostgres`. */
export function planPostgres(url: string, model: Model, isLocked?: boolean): Promise<readonly Step[]> {
  return withConnection(url, async client => {
    const { left, steps } = planned(await stateOf(client), { model, isLocked })
    const checked: Step[] = []
    for (const step of steps) {
      const faults = await dataFaults(client, model, checksIn([step]))
      checked.push(faults.length === 0 ? shown(step) : { ...shown(step), faults })
    }
    return [...left.map(leftStep), ...checked]
  })
}

export interface ApplyOptions {
  readonly allowDestructive: boolean
  /** Whether row security is switched on or off (see `policies.ts`). Omitted: it does not change. */
  readonly isLocked?: boolean
}

/** Migrates the database to `model` and returns the steps that were applied. Throws a `MigrationError`. */
export function applyPostgres(
  url: string,
  model: Model,
  { allowDestructive, isLocked }: ApplyOptions,
): Promise<readonly Step[]> {
  return withConnection(url, client =>
    withMigrationLock(client, () =>
      migrate(client, { model, isLocked }, steps => {
        const destructive = steps.filter(step => step.destructive)
        if (destructive.length > 0 && !allowDestructive) throw wouldLoseData(destructive)
      }),
    ),
  )
}

interface PostgresStart extends Start {
  readonly isLocked?: boolean
}

/**
 * What a start does: creates the tables of an empty database, applies additive changes if it may, and throws a
 * `MigrationError` for everything else. If several processes start at once, one does it and the others wait.
 */
export function preparePostgres(url: string, model: Model, start: PostgresStart): Promise<void> {
  const { autoMigrate, isLocked } = start
  const aim = { model, isLocked }
  return withConnection(url, async client => {
    if (isLocked) await requireRestrained(client)
    const state = await stateOf(client)
    if (isPrepared(state, aim, start)) {
      const hasLeftovers = autoMigrate && leftovers(state.catalog).length > 0
      // The leftovers are of another migration, so this start does not fail because of them.
      if (hasLeftovers) await tryWithMigrationLock(client, () => clean(client)).catch(() => {})
      return
    }
    await withMigrationLock(client, () =>
      migrate(client, aim, (todo, isNew) => {
        if (!isNew) requireAdditive(todo, start)
      }),
    )
  })
}

/** Whether nothing has to be done. */
function isPrepared(state: State, aim: Aim, start: Start): boolean {
  try {
    const plan = planned(state, aim)
    const { stored } = state
    if (start.autoMigrate && stored !== undefined && !accepts(stored)) return false
    return isDone(state, { left: [], steps: [] }) && fits([...plan.left.map(leftStep), ...plan.steps], start)
  } catch (error) {
    if (error instanceof MigrationError) return false
    throw error
  }
}

type Check = (steps: readonly Omit<Step, 'sql'>[], isNew: boolean) => void

async function migrate(client: pg.Client, aim: Aim, check: Check): Promise<readonly Step[]> {
  if (aim.isLocked) await requireRestrained(client)
  const state = await stateOf(client)
  const plan = planned(state, aim)
  const { left, steps } = plan
  const isNeeded = !isDone(state, plan) || (state.stored !== undefined && !accepts(state.stored))
  if (isNeeded) check([...left.map(leftStep), ...steps], state.stored === undefined)
  await clean(client)
  // Another process has done it in the meantime.
  if (!isNeeded) return []
  const checks = checksIn(steps)
  const faults = await dataFaults(client, aim.model, checks)
  if (faults.length > 0) throw preventedByRows(faults)
  await finish(client, left)
  const schema = schemaOf(aim.model)
  try {
    const filled = await prepare(client, steps)
    if (state.stored !== undefined) await announce(client)
    await transact(client, { own: missingOwnStatements(state.catalog), filled, steps, schema })
  } catch (error) {
    await clean(client).catch(() => {})
    throw error
  }
  await finish(client, unfinished(await readCatalog(client), schema))
  const newFaults = await dataFaults(client, aim.model, checks.map(checksAfter))
  if (newFaults.length > 0) throw rowsWrittenMeanwhile(newFaults)
  return [...left.map(leftStep), ...steps.map(shown)]
}

function checksIn(steps: readonly Pick<Step, 'checks'>[]): readonly TableChecks[] {
  return steps.flatMap(step => step.checks ?? [])
}

/** Removes what an unfinished migration has prepared. */
async function clean(client: pg.Client): Promise<void> {
  for (const text of leftovers(await readCatalog(client))) await runWithRetries(client, text)
}

async function finish(client: pg.Client, left: readonly Unfinished[]): Promise<void> {
  for (const { sentence, sql } of left) {
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

interface Transaction {
  /** The statements that create what is missing of Portico's own tables. */
  readonly own: readonly string[]
  readonly filled: readonly Filled[]
  readonly steps: readonly PostgresStep[]
  readonly schema: Schema
}

/** All or nothing. Gives up soon if others hold a lock, because later statements would queue behind this one. */
async function transact(client: pg.Client, { own, filled, steps, schema }: Transaction): Promise<void> {
  await withRetries(async () => {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`)
      await step('Create the tables of Portico itself.', () => client.query(own.join(';\n')))
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
