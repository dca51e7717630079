/** The row security of a database, and the steps that create, replace or remove it. */
import type { ClientBase } from 'pg'
import type { Model } from '../../../../model/model.ts'
import type { MigrationStep } from '../../schema/diff.ts'
import { noStatements, type PostgresSql } from '../../schema/postgres/sql.ts'
import { ident } from '../../schema/quoted.ts'
import { MigrationError } from '../../schema/refusal.ts'
import { ROW_SECURITY, type RowSecurity, rowSecurity } from './policies.ts'

const currentSchema = 'current_schema()::regnamespace'

/** One line for each object: its kind, its table and its name. */
const objects = `SELECT concat_ws(' ', "kind", "table", "name") AS "object" FROM (
  SELECT 'policy' AS "kind", c.relname AS "table", p.polname::text AS "name" FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
    WHERE c.relnamespace = ${currentSchema} AND starts_with(p.polname, 'portico_')
  UNION ALL SELECT 'secured', c.relname, CASE WHEN c.relforcerowsecurity THEN 'forced' END FROM pg_class c
    WHERE c.relnamespace = ${currentSchema} AND c.relrowsecurity AND (starts_with(c.relname, '_search_')
      OR EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND starts_with(p.polname, 'portico_')))
  UNION ALL SELECT 'trigger', c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = ${currentSchema} AND starts_with(t.tgname, '${ROW_SECURITY}')
  UNION ALL SELECT 'parent', c.relname, p.relname FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.relnamespace = ${currentSchema} AND starts_with(p.relname, '_all_')
) AS "o"`

export interface StoredSecurity {
  readonly objects: readonly string[]
  /** Of the policies that were last created; undefined: it is off. */
  readonly fingerprint: string | undefined
}

export async function readSecurity(client: ClientBase, fingerprint?: string): Promise<StoredSecurity> {
  const { rows } = await client.query<{ object: string }>(objects)
  return { objects: rows.map(({ object }) => object), fingerprint }
}

/** The statements that remove each kind of object: policies before the tables that they read. */
const removals: Readonly<Record<string, (table: string, name: string) => readonly string[]>> = {
  policy: (table, name) => [`DROP POLICY ${ident(name)} ON ${ident(table)}`],
  trigger: (table, name) => [
    `DROP TRIGGER ${ident(name)} ON ${ident(table)}`,
    `DROP FUNCTION IF EXISTS ${ident(name)}()`,
  ],
  parent: (table, name) => [
    `ALTER TABLE ${ident(table)} NO INHERIT ${ident(name)}`,
    `DROP TABLE ${ident(name)}`,
  ],
  secured: table => [
    `ALTER TABLE IF EXISTS ${ident(table)} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY`,
  ],
}

function removalSql(objects: readonly string[]): readonly string[] {
  const parts = objects.map(object => object.split(' '))
  return Object.entries(removals).flatMap(([kind, drop]) =>
    parts.flatMap(([objectKind, table = '', name = '']) => (objectKind === kind ? drop(table, name) : [])),
  )
}

const fingerprintKey = 'row_security'

/** The stored fingerprint. */
export function fingerprintIn(values: ReadonlyMap<string, string>): string | undefined {
  return values.get(fingerprintKey)
}

function storeFingerprint({ fingerprint }: RowSecurity): string {
  return `INSERT INTO "_portico" ("key", "value") VALUES ('${fingerprintKey}', '${fingerprint}') ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`
}

const deleteFingerprint = `DELETE FROM "_portico" WHERE "key" = '${fingerprintKey}'`

/** The statements that create it on existing tables. */
export function securitySql(model: Model): readonly string[] {
  const security = rowSecurity(model)
  return [...security.sql, storeFingerprint(security)]
}

/**
 * Adds the steps of row security to those of the tables. Columns that policies read cannot be changed, so the policies are
 * dropped before the tables change, and created again in the same transaction. `isRequested` undefined: it stays on or off.
 */
export function withSecurity(
  steps: readonly MigrationStep<PostgresSql>[],
  stored: StoredSecurity,
  model: Model,
  isRequested: boolean | undefined,
): readonly MigrationStep<PostgresSql>[] {
  const changesTables = steps.some(step => step.allowsValuesOnly !== true)
  const exists = stored.fingerprint !== undefined || stored.objects.length > 0
  const target = (isRequested ?? exists) ? rowSecurity(model) : undefined
  if (target === undefined && !exists) return steps
  if (target !== undefined && !changesTables && isUpToDate(stored, target)) return steps
  const removal: MigrationStep<PostgresSql> = {
    sentence:
      target === undefined
        ? 'Remove the policies of row security: every row is visible to whoever may read its table.'
        : 'Remove the policies of row security while the tables change.',
    sql: { ...noStatements, before: [...removalSql(stored.objects), deleteFingerprint] },
    // A command without the setting must not remove them.
    destructive: target === undefined,
    additive: target !== undefined,
    surplus: false,
  }
  const before = exists ? [removal] : []
  if (target === undefined) return [...before, ...steps]
  const creation: MigrationStep<PostgresSql> = {
    sentence: 'Lock the rows by policies made of the access rules (row security).',
    sql: { ...noStatements, after: securitySql(model) },
    destructive: false,
    additive: true,
    surplus: false,
  }
  return [...before, ...steps, creation]
}

function isUpToDate({ objects: storedObjects, fingerprint }: StoredSecurity, target: RowSecurity): boolean {
  return (
    fingerprint === target.fingerprint &&
    [...storedObjects].sort().join('\n') === [...target.objects].sort().join('\n')
  )
}

/** Throws a `MigrationError` if policies do not apply to the database user. */
export async function requireRestrained(client: ClientBase): Promise<void> {
  const { rows } = await client.query(
    'SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user',
  )
  const [{ rolname, rolsuper, rolbypassrls } = {}] = rows
  if (!rolsuper && !rolbypassrls) return
  const reason = rolsuper ? 'is a superuser' : 'has BYPASSRLS'
  throw new MigrationError(
    `Row security would have no effect: the database user ${JSON.stringify(rolname)} ${reason}, and no policy applies to it. Name another user in DATABASE_URL, one that owns the tables, or turn PORTICO_ROW_SECURITY off.`,
  )
}
