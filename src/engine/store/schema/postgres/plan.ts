/** The state of a PostgreSQL database, and the steps that migrate it to a model. */
import type pg from 'pg'
import type { Model } from '../../../../model/model.ts'
import {
  fingerprintIn,
  readSecurity,
  type StoredSecurity,
  withSecurity,
} from '../../postgres/row-security/migration.ts'
import { diff, type MigrationStep } from '../diff.ts'
import { missingColumnsError, unfinishedCopyError } from '../refusal.ts'
import { type Schema, schemaFrom, schemaOf } from '../tables.ts'
import {
  type Catalog,
  hasOwnTables,
  missingColumns,
  readCatalog,
  type Unfinished,
  unfinishedWork,
} from './catalog.ts'
import { type PostgresSql, preparationSql } from './sql.ts'
import { postgresSteps } from './steps.ts'

/** The aim of a migration. */
export interface MigrationTarget {
  readonly model: Model
  /** Whether row security is on; undefined: it does not change. */
  readonly rowSecurity: boolean | undefined
}

export type PostgresStep = MigrationStep<PostgresSql>

export interface DatabaseState {
  /** Undefined: Portico has created nothing here yet. */
  readonly stored: Schema | undefined
  readonly catalog: Catalog
  readonly security: StoredSecurity
}

/** Reads one snapshot, because another process may be migrating. */
export async function stateOf(client: pg.Client): Promise<DatabaseState> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  try {
    return await readState(client)
  } finally {
    await client.query('COMMIT').catch(() => {})
  }
}

async function readState(client: pg.Client): Promise<DatabaseState> {
  const catalog = await readCatalog(client)
  const none = { objects: [], fingerprint: undefined }
  if (!catalog.tables.has('_portico')) return { stored: undefined, catalog, security: none }
  const { rows } = await client.query(`SELECT "key", "value" FROM "_portico"`)
  const values = new Map(rows.map(row => [row.key, String(row.value)]))
  if (values.has('copy')) throw unfinishedCopyError()
  const text = values.get('schema')
  const security = await readSecurity(client, fingerprintIn(values))
  return { stored: text === undefined ? undefined : schemaFrom(text), catalog, security }
}

export interface MigrationPlan {
  readonly unfinished: readonly Unfinished[]
  readonly steps: readonly PostgresStep[]
}

export function planFor(
  { stored = { tables: [] }, catalog, security }: DatabaseState,
  { model, rowSecurity }: MigrationTarget,
): MigrationPlan {
  const missing = missingColumns(catalog, stored)
  if (missing.length > 0) throw missingColumnsError(missing)
  const after = schemaOf(model)
  const steps = diff(stored, after, postgresSteps(stored, after, catalog.defaults))
  return {
    unfinished: unfinishedWork(catalog, stored),
    steps: withSecurity(steps, security, model, rowSecurity),
  }
}

export function isUpToDate(
  { stored, catalog }: DatabaseState,
  { unfinished, steps }: MigrationPlan,
): boolean {
  return stored !== undefined && unfinished.length === 0 && steps.length === 0 && hasOwnTables(catalog)
}

export function unfinishedStep({ sentence, isRequired, sql }: Unfinished): MigrationStep {
  return { sentence, sql: sql.flat(), destructive: false, additive: true, surplus: !isRequired }
}

export function asStep({ sql, ...step }: PostgresStep): MigrationStep {
  const { prepare, before, alter, after, finish } = sql
  return { ...step, sql: [...prepare.flatMap(preparationSql), ...before, ...alter, ...after, ...finish] }
}
