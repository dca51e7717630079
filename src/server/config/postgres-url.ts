/** The URL of a PostgreSQL database. What the driver would ignore or misread is refused. */
import { isHost } from './copying-mistakes.ts'

const form = 'postgres://user:password@host:5432/database'

/** Whether a database's name is the URL of a PostgreSQL server. */
export function isPostgres(name: string): boolean {
  return /^postgres(ql)?:/i.test(name)
}

const anyText = /./
/** The parameters that the driver uses, and their values. */
const parameters: ReadonlyMap<string, RegExp> = new Map([
  ['host', anyText],
  ['port', /^\d{1,5}$/],
  ['user', anyText],
  ['password', anyText],
  ['ssl', /^(?:true|1|0)$/],
  ['sslmode', /^(?:disable|prefer|require|verify-ca|verify-full|no-verify)$/],
  ['sslcert', anyText],
  ['sslkey', anyText],
  ['sslrootcert', anyText],
  ['sslnegotiation', /^(?:postgres|direct)$/],
  ['uselibpqcompat', /^(?:true|false)$/],
  ['application_name', anyText],
  ['options', anyText],
])

/** Parameters of other programs, and what to do instead. */
const advice: ReadonlyMap<string, string> = new Map([
  [
    'schema',
    'remove it, and set the schema for the role: `ALTER ROLE … SET search_path = …`, or `options=-c%20search_path%3D…`',
  ],
  ['search_path', 'write it as `options=-c%20search_path%3D…`'],
  ['currentschema', 'write it as `options=-c%20search_path%3D…`'],
  ['pgbouncer', 'remove it: Portico needs connections of its own, or a pooler in session mode'],
  ['connection_limit', 'remove it: PORTICO_DB_CONNECTIONS is the number of connections'],
  ['pool_timeout', 'remove it: PORTICO_DB_TIMEOUT is the time limit'],
  ['statement_timeout', 'remove it: PORTICO_DB_TIMEOUT is the time limit'],
  ['connect_timeout', 'remove it: connecting has a time limit of its own'],
  ['channel_binding', 'remove it: `sslmode=verify-full` proves that the server is the right one'],
])

/** Returns the URL unchanged. Throws a `RangeError` that repeats no part of it but the name of a parameter. */
export function postgresUrl(value: string): string {
  const url = /^\w+:\/\//.test(value) ? parsed(value) : undefined
  if (url === undefined) throw new RangeError(`must be a URL such as \`${form}\``)
  if (url.pathname.length < 2) throw new RangeError(`names no database: write it as \`${form}\``)
  if (url.hash !== '') throw new RangeError('contains `#`: write `%23` for this character')
  if (url.pathname.includes('/', 1))
    throw new RangeError('has a `/` in the name of the database: write `%2F` for this character')
  if (url.hostname !== '' && !isHost(decoded(url.hostname)) && !decoded(url.hostname).startsWith('/'))
    throw new RangeError(`has a host that is no host name: name one server, as in \`${form}\``)
  for (const part of [url.username, url.password, url.pathname]) decoded(part)
  for (const name of new Set(url.searchParams.keys())) requireParameter(name, url.searchParams.getAll(name))
  return value
}

/** A socket's folder can be the host: `postgres://user@%2Frun%2Fpostgresql/database`; an empty host is given by `host=`. */
function parsed(value: string): URL | undefined {
  if (URL.canParse(value)) return new URL(value)
  const withHost = value.replace('@/', '@localhost/')
  return URL.canParse(withHost) ? new URL(withHost) : undefined
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new RangeError('has a `%` without the code of a character: write `%25` for the character `%`')
  }
}

function requireParameter(name: string, values: readonly string[]): void {
  const shown = `the parameter \`${name.slice(0, 50)}\``
  const form = parameters.get(name)
  if (form === undefined) {
    const known = `Portico knows ${[...parameters.keys()].join(', ')}`
    const remedy = advice.get(name.toLowerCase()) ?? `remove it; ${known}`
    throw new RangeError(`has ${shown}, which has no effect here: ${remedy}`)
  }
  if (values.length > 1) throw new RangeError(`has ${shown} twice: write it once`)
  if (!form.test(values[0] ?? '')) throw new RangeError(`has ${shown} with a value that it does not take`)
}
