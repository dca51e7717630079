/** Every setting, in one table. `docs/configuration.md` is generated from it. */

import { accountSettings } from './config/accounts.ts'
import { database, replicas } from './config/database.ts'
import { graphqlSettings } from './config/graphql.ts'
import {
  apiKey,
  choice,
  email,
  flag,
  integer,
  origin,
  password,
  rateLimit,
  secretKeyList,
  text,
  trustProxy,
  workers,
} from './config/kinds.ts'
import { oauthSettings } from './config/oauth.ts'
import { readTable, type SettingsSources } from './config/read.ts'
import { redisSettings } from './config/redis.ts'
import { optional, type Row, row } from './config/row.ts'

export const settingsTable = {
  port: row({
    variable: 'PORT',
    kind: integer(0, 65_535),
    default: 3000,
    sentence: 'The port to listen on; 0 takes a free one.',
  }),
  host: row({
    variable: 'HOST',
    kind: text,
    default: '0.0.0.0',
    sentence: 'The address to listen on; `127.0.0.1` lets only this machine in.',
  }),
  database: row({
    variable: 'DATABASE_URL',
    kind: database,
    default: './data/portico.db',
    sentence:
      'The SQLite file, whose folder is made when missing, or the PostgreSQL database: `postgres://user:password@host:5432/database`.',
  }),
  databaseConnections: row({
    variable: 'PORTICO_DB_CONNECTIONS',
    kind: integer(4, 1000),
    default: 8,
    sentence:
      'How many connections to PostgreSQL a node holds at most, its workers together, and to each of its replicas; each worker needs four. Four for each core of the database, divided by the nodes, is a good start.',
  }),
  databaseReplicas: optional({
    variable: 'DATABASE_REPLICA_URLS',
    kind: replicas,
    secret: true,
    defaultText: 'none: `database` answers all reads',
    sentence:
      'Hot standbys of the PostgreSQL database, which answer reads wherever they have all that the primary has of what is read.',
  }),
  databaseTimeout: row({
    variable: 'PORTICO_DB_TIMEOUT',
    kind: integer(500, 600_000),
    default: 10_000,
    sentence:
      'How long a statement on PostgreSQL, or a slow read on SQLite, may take, in milliseconds; on PostgreSQL half of it is the longest wait for a row that another transaction has locked, on SQLite it counts from when the read was asked for. Then the request is answered with 503. A PostgreSQL server that says nothing at all is given up in about four seconds, whatever this is.',
  }),
  databaseReaders: row({
    variable: 'PORTICO_DB_READERS',
    kind: integer(0, 64),
    default: 2,
    sentence:
      'How many processes beside the service read an SQLite file for requests whose reads take long, its workers together, at least one each; they are started when they are needed. One caller can hold all but one of them. 0: every read holds the event loop for as long as it takes.',
  }),
  rowSecurity: row({
    variable: 'PORTICO_ROW_SECURITY',
    kind: flag,
    default: false,
    sentence:
      'Whether PostgreSQL locks the rows too, by policies made of the access rules. Takes a database user who is no superuser and has no BYPASSRLS.',
  }),
  workers: row({
    variable: 'WORKERS',
    kind: workers,
    default: 1,
    sentence:
      'How many threads serve, all on the same port; `auto`: as many as the machine has processors. More than one needs `model` as a file, and a system that lets threads share a port.',
  }),
  baseUrl: optional({
    variable: 'BASE_URL',
    kind: origin,
    defaultText: 'wherever the client found it',
    sentence: 'The address that clients reach the service by, for links and documents.',
  }),
  model: optional({
    variable: 'PORTICO_MODEL',
    kind: text,
    sentence: 'The model file, for the command line and for workers. `--model` wins over it.',
  }),
  adminEmail: row({
    variable: 'PORTICO_ADMIN_EMAIL',
    kind: email,
    default: 'admin@example.com',
    sentence: 'The e-mail address of the administrator that the first start creates.',
  }),
  adminPassword: optional({
    variable: 'PORTICO_ADMIN_PASSWORD',
    kind: password,
    secret: true,
    defaultText: 'a generated one, printed once',
    sentence: 'The password of that administrator. A given one is never printed.',
  }),
  adminApiKey: optional({
    variable: 'PORTICO_ADMIN_API_KEY',
    kind: apiKey,
    secret: true,
    defaultText: 'a generated one, printed once',
    sentence:
      'The API key of that administrator. A given one is never printed; `portico keys generate` prints a good one.',
  }),
  secretKeys: optional({
    variable: 'PORTICO_SECRET_KEY',
    kind: secretKeyList,
    secret: true,
    defaultText:
      'the key file beside the SQLite database, e.g. `./data/portico.key`, made by the first start',
    sentence:
      'With what secrets in the database are sealed: signing keys, one-time codes, sessions. Of several keys the first seals and all open. Every node needs the same; PostgreSQL has no key file, so there it must be set.',
  }),
  rateLimit: optional({
    variable: 'PORTICO_RATE_LIMIT',
    kind: rateLimit,
    defaultText: '1000 for a user, 120 for an address',
    sentence:
      'Requests per minute of each user, of each app for each user, and of each client address without a credential; `off` limits nobody.',
  }),
  addressRateLimit: optional({
    variable: 'PORTICO_ADDRESS_RATE_LIMIT',
    kind: rateLimit,
    defaultText: 'as `rateLimit` where that is set, else 120',
    sentence:
      'Requests per minute of each client address without a credential, failed credentials included. IPv6 addresses count by their /64 network.',
  }),
  logLevel: row({
    variable: 'LOG_LEVEL',
    kind: choice('silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'),
    default: 'info',
    sentence:
      'What is logged, as JSON lines on standard output; `info` has one line for each request but probes that went well.',
  }),
  tracesEndpoint: optional({
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: origin,
    secret: true,
    defaultText: 'none: nothing is traced',
    sentence:
      'Where OpenTelemetry traces are sent, as OTLP over HTTP: the address before `/v1/traces`, e.g. `http://localhost:4318`.',
  }),
  trustProxy: row({
    variable: 'PORTICO_TRUST_PROXY',
    kind: trustProxy,
    default: false,
    sentence:
      'Whose `X-Forwarded-For` is believed: nobody’s, that of so many proxies in front, or that of proxies at these addresses and networks (separated by commas in the variable).',
  }),
  bodyLimit: row({
    variable: 'PORTICO_BODY_LIMIT',
    kind: integer(1, 1_073_741_824),
    default: 1_048_576,
    sentence: 'The largest request body, in bytes.',
  }),
  maxHeaderSize: row({
    variable: 'PORTICO_MAX_HEADER_SIZE',
    kind: integer(1024, 1_048_576),
    default: 16_384,
    sentence: 'The largest request line and headers together, in bytes.',
  }),
  headersTimeout: row({
    variable: 'PORTICO_HEADERS_TIMEOUT',
    kind: integer(1, 3600),
    default: 10,
    sentence: 'Seconds for the headers of a request to arrive.',
  }),
  requestTimeout: row({
    variable: 'PORTICO_REQUEST_TIMEOUT',
    kind: integer(1, 3600),
    default: 30,
    sentence: 'Seconds for a whole request to arrive.',
  }),
  keepAliveTimeout: row({
    variable: 'PORTICO_KEEP_ALIVE_TIMEOUT',
    kind: integer(1, 3600),
    default: 72,
    sentence: 'Seconds that an idle connection is kept; longer than a load balancer keeps it.',
  }),
  readTimeout: row({
    variable: 'PORTICO_READ_TIMEOUT',
    kind: integer(1, 3600),
    default: 60,
    sentence:
      'Seconds for a client to take an answer, and one more for every 64 KiB of it. Then the connection ends.',
  }),
  maxUnread: row({
    variable: 'PORTICO_MAX_UNREAD',
    kind: integer(1_048_576, 68_719_476_736),
    default: 268_435_456,
    sentence:
      'How many bytes of answers may wait for clients that are slow to take them, in all workers together. Beyond, the connections that wait longest end.',
  }),
  maxConnections: row({
    variable: 'PORTICO_MAX_CONNECTIONS',
    kind: integer(1, 1_000_000),
    default: 10_000,
    sentence:
      'How many connections may be open, WebSockets included, to all workers together. Beyond, idle ones end, WebSockets on which nothing runs first, then requests on new ones are answered with 503; a tenth beyond, new ones end at once.',
  }),
  maxScan: optional({
    variable: 'PORTICO_MAX_SCAN',
    kind: integer(1, 1_000_000_000),
    defaultText: 'no bound',
    sentence:
      'How many rows of the database a list may look at, by an estimate from its plan and the tables’ totals, in REST and GraphQL. A list that would look at more is answered with 400 and `SCAN_TOO_LARGE`, whoever asks.',
  }),
  serverTiming: row({
    variable: 'PORTICO_SERVER_TIMING',
    kind: flag,
    default: false,
    sentence:
      'Whether answers of REST and GraphQL have a `Server-Timing` header with how long the database took, what the slowest list looked at and which index it lacks. For development: it tells strangers about the inside.',
  }),
  maxDelay: row({
    variable: 'PORTICO_MAX_DELAY',
    kind: integer(0, 60_000),
    default: 500,
    sentence:
      'Milliseconds that a request may wait for those before it. One that would wait for longer is answered with 503, at once. 0 refuses nobody.',
  }),
  shutdownGrace: row({
    variable: 'PORTICO_SHUTDOWN_GRACE',
    kind: integer(0, 3600),
    default: 10,
    sentence: 'Seconds that a stop waits for running requests.',
  }),
  shutdownDelay: row({
    variable: 'PORTICO_SHUTDOWN_DELAY',
    kind: integer(0, 3600),
    default: 0,
    sentence:
      'Seconds that a stop goes on serving first, while `/readyz` answers 503 and connections end with their next answer: time for a load balancer to choose other nodes.',
  }),
  cors: row({
    variable: 'PORTICO_CORS',
    kind: flag,
    default: true,
    sentence: 'Whether web pages of other origins may call the service. Cookies play no part in it.',
  }),
  cacheBytes: row({
    variable: 'PORTICO_CACHE_BYTES',
    kind: integer(0, 68_719_476_736),
    default: 67_108_864,
    sentence: 'Memory for remembered answers of all workers together, in bytes; 0 remembers none.',
  }),
  autoMigrate: row({
    variable: 'PORTICO_AUTO_MIGRATE',
    kind: flag,
    default: process.env.NODE_ENV !== 'production',
    defaultText: '`true`, and `false` where `NODE_ENV` is `production`',
    sentence:
      'Whether a start applies what the model adds. Other changes always take `portico migrate`. If not, what a newer version has added may stay.',
  }),
  maxKeysPerUser: row({
    variable: 'PORTICO_MAX_KEYS_PER_USER',
    kind: integer(1, 100_000),
    default: 100,
    sentence: 'How many API keys one user may have.',
  }),
  ...graphqlSettings,
  ...oauthSettings,
  ...accountSettings,
  ...redisSettings,
} as const

type Table = typeof settingsTable
type ValueOf<R> = R extends Row<infer T> ? T : never

/** The value of every setting. Times are in seconds unless the setting says otherwise, sizes in bytes. */
export type Settings = { readonly [Name in keyof Table]: ValueOf<Table[Name]> }

type Given = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined }

/** What stands after `prefix.` in the names of a group of settings. */
type Within<Prefix extends string> = {
  readonly [Name in keyof Table as Name extends `${Prefix}.${infer Rest}` ? Rest : never]?:
    | ValueOf<Table[Name]>
    | undefined
}

/**
 * Settings as a program gives them: those that are left out come from the environment, or are defaults.
 * A group can be an object: `{ graphql: { documents: 'registered' } }`.
 */
export type GivenSettings = Given & {
  readonly graphql?: Within<'graphql'> | undefined
  readonly oauth?: Within<'oauth'> | undefined
  readonly accounts?: Within<'accounts'> | undefined
  readonly theme?: Within<'theme'> | undefined
  readonly mail?: Within<'mail'> | undefined
  readonly redis?: Within<'redis'> | undefined
}

/** Reads every setting: given, else environment, else file, else default. Throws a `SettingsError`. */
export function readSettings(sources: SettingsSources): Settings {
  return readTable(settingsTable, sources) as Settings
}

export { SettingsError, type SettingsSources } from './config/read.ts'
