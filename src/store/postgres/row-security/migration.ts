/** Row security as found in a database, and the steps that create, replace or remove it. */
import type { ClientBase } from 'pg'
import type { Model } from '../../../model/model.ts'
import type { Step } from '../../schema/diff.ts'
import { nothing, type PostgresSql } from '../../schema/postgres/sql.ts'
import { ident } from '../../schema/quoted.ts'
import { MigrationError } from '../../schema/refusal.ts'
import { ROW_SECURITY, type RowSecurity, rowSecurity } from './policies.ts'

const here = 'current_schema()::regnamespace'

/** One line for each object: its kind, its table and its name. */
const objects = `SELECT concat_ws(' ', "kind", "table", "name") AS "object" FROM (
  SELECT 'policy' AS "kind", c.relname AS "table", p.polname::text AS "name" FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
    WHERE c.relnamespace = ${here} AND starts_with(p.polname, 'portico_')
  UNION ALL SELECT 'locked', c.relname, CASE WHEN c.relforcerowsecurity THEN 'forced' END FROM pg_class c
    WHERE c.relnamespace = ${here} AND c.relrowsecurity AND (starts_with(c.relname, '_search_')
      OR EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND starts_with(p.polname, 'portico_')))
  UNION ALL SELECT 'trigger', c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = ${here} AND starts_with(t.tgname, '${ROW_SECURITY}')
  UNION ALL SELECT 'parent', c.relname, p.relname FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.relnamespace = ${here} AND starts_with(p.relname, '_all_')
) AS "o"`

export interface FoundSecurity {
  readonly objects: readonly string[]
  /** Of the policies that were last created; undefined: it is off. */
  readonly fingerprint: string | undefined
}

export async function readSecurity(client: ClientBase, fingerprint?: string): Promise<FoundSecurity> {
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
  locked: table => [
    `ALTER TABLE IF EXISTS ${ident(table)} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY`,
  ],
}

function removalSql(found: readonly string[]): readonly string[] {
  const split = found.map(object => object.split(' '))
  return Object.entries(removals).flatMap(([kind, drop]) =>
    split.flatMap(([is, table = '', name = '']) => (is === kind ? drop(table, name) : [])),
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
 * dropped before the tables change, and created again in the same transaction. `isWanted` undefined: it stays on or off.
 */
export function withSecurity(
  steps: readonly Step<PostgresSql>[],
  found: FoundSecurity,
  model: Model,
  isWanted: boolean | undefined,
): readonly Step<PostgresSql>[] {
  const changesTables = steps.some(step => step.allowsValuesOnly !== true)
  const isThere = found.fingerprint !== undefined || found.objects.length > 0
  const wanted = (isWanted ?? isThere) ? rowSecurity(model) : undefined
  if (wanted === undefined && !isThere) return steps
  if (wanted !== undefined && !changesTables && isAsWanted(found, wanted)) return steps
  const removal: Step<PostgresSql> = {
    sentence:
      wanted === undefined
        ? 'Remove the policies of row security: every row is visible to whoever may read its table.'
        : 'Remove the policies of row security while the tables change.',
    sql: { ...nothing, before: [...removalSql(found.objects), deleteFingerprint] },
    // A command that merely lacks the setting must not remove them.
    destructive: wanted === undefined,
    additive: wanted !== undefined,
    surplus: false,
  }
  const before = isThere ? [removal] : []
  if (wanted === undefined) return [...before, ...steps]
  const creation: Step<PostgresSql> = {
    sentence: 'Lock the rows by policies made of the access rules (row security).',
    sql: { ...nothing, after: securitySql(model) },
    destructive: false,
    additive: true,
    surplus: false,
  }
  return [...before, ...steps, creation]
}

function isAsWanted({ objects: there, fingerprint }: FoundSecurity, wanted: RowSecurity): boolean {
  return (
    fingerprint === wanted.fingerprint &&
    [...there].sort().join('\n') === [...wanted.objects].sort().join('\n')
  )
}

/** Throws a `MigrationError` if policies do not apply to the database user. */
export async function requireRestrained(client: ClientBase): Promise<void> {
  const { rows } = await client.query(
    'SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user',
  )
  const [{ rolname, rolsuper, rolbypassrls } = {}] = rows
  if (!rolsuper && !rolbypassrls) return
  const why = rolsuper ? 'is a superuser' : 'has BYPASSRLS'
  throw new MigrationError(
    `Row security would have no effect: the database user ${JSON.stringify(rolname)} ${why}, and no policy applies to it. Name another user in DATABASE_URL, one that owns the tables, or turn PORTICO_ROW_SECURITY off.`,
  )
}
