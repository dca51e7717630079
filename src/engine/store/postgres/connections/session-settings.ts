/**
 * What every connection relies on, whatever the server, the database or the role has as its default. Not
 * `default_transaction_read_only`: with it, operators keep a database from changing.
 */

/** https://www.postgresql.org/docs/current/runtime-config-client.html */
const relied: Readonly<Record<string, string>> = {
  client_encoding: 'UTF8',
  timezone: 'UTC',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  // The shortest text from which the same number is read.
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  // Definitions of indexes and policies are compared as texts.
  quote_all_identifiers: 'off',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  // Since version 14 and 17.
  idle_session_timeout: '0',
  transaction_timeout: '0',
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Without it, a commit that was acknowledged is lost with the server. Other values are the operator's choice. */
const durable =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

/**
 * The statements that set it. `schema`: the one of all tables; omitted: the first of the connection's own search path, which
 * is then the only one, so that no name is found elsewhere.
 */
export function sessionSettings(schema?: string): string {
  const names = Object.entries(relied).map(([name, value]) => `(${literal(name)}, ${literal(value)})`)
  const isKnown = 'current_setting("name", true) IS NOT NULL'
  const first = schema === undefined ? 'current_schema()' : literal(schema)
  return `SELECT set_config('search_path', quote_ident(${first}), false); SELECT set_config("name", "value", false) FROM (VALUES ${names.join(', ')}) AS "relied" ("name", "value") WHERE ${isKnown}; ${durable}`
}
