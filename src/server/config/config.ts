/** Every setting, in one table. `docs/configuration.md` is generated from it. */

import { accountSettings } from './accounts.ts'
import { database, replicas } from './database.ts'
import { eventSettings } from './events.ts'
import { fileSettings } from './files.ts'
import { graphqlSettings } from './graphql.ts'
import {
  apiKey,
  choice,
  email,
  flag,
  headerName,
  host,
  integer,
  origin,
  password,
  path,
  secretKeyList,
  trustProxy,
  workers,
} from './kinds.ts'
import { logicSettings } from './logic.ts'
import { member, membersSetting } from './members.ts'
import { oauthSettings } from './oauth.ts'
import type { GivenProvider } from './providers.ts'
import { quotaSetting } from './quotas.ts'
import { rateLimitSetting } from './rate-limit.ts'
import { reactionSettings } from './reactions.ts'
import { readTable, type SettingsSources } from './read.ts'
import { redisSettings } from './redis.ts'
import { optional, type Setting, setting } from './setting.ts'
import { duration, size } from './units.ts'
import { unknownVariables } from './unknown-variables.ts'
import { webhookSettings } from './webhooks.ts'

export const settingsTable = {
  port: setting({
    variable: 'PORT',
    kind: integer(0, 65_535),
    default: 3000,
    description: 'The port to listen on; 0 takes a free one.',
  }),
  host: setting({
    variable: 'HOST',
    kind: host,
    default: '0.0.0.0',
    description: 'The address to listen on; `127.0.0.1` accepts connections only from this machine.',
  }),
  database: setting({
    variable: 'DATABASE_URL',
    kind: database,
    default: './data/portico.db',
    description:
      'The SQLite file, whose folder is created if missing, or the PostgreSQL database: `postgres://user:password@host:5432/database`.',
  }),
  databaseConnections: setting({
    variable: 'PORTICO_DB_CONNECTIONS',
    kind: integer(4, 1000),
    default: 8,
    description:
      'The maximum number of connections from a node to PostgreSQL, all workers together, and to each replica. Each worker needs four. Four per core of the database server, divided by the number of nodes, is a good start.',
  }),
  databaseReplicas: optional({
    variable: 'DATABASE_REPLICA_URLS',
    kind: replicas,
    secret: true,
    defaultText: 'none: `database` answers all reads',
    description:
      'Hot standbys of the PostgreSQL database. They answer reads of the collections for which they are up to date.',
  }),
  databaseTimeout: setting({
    variable: 'PORTICO_DB_TIMEOUT',
    kind: duration({ from: '500 ms', to: '10 min', example: '10 s' }),
    default: '10 s',
    description:
      'The timeout of a statement on PostgreSQL, or of a slow read on SQLite. After that the request is answered with 503. On PostgreSQL, the wait for a row that another transaction has locked is at most half of it. On SQLite, it includes the time that the read waits for a process; on PostgreSQL, a read waits as long for a connection. A PostgreSQL server that does not respond at all is given up after about four seconds, whatever the value.',
  }),
  rowSecurity: setting({
    variable: 'PORTICO_ROW_SECURITY',
    kind: flag,
    default: false,
    description:
      'Whether PostgreSQL enforces row access too, by row security policies generated from the access rules. The database user must not be a superuser or have BYPASSRLS.',
  }),
  workers: setting({
    variable: 'WORKERS',
    kind: workers,
    default: 1,
    description:
      'The number of threads that serve, all on the same port; `auto`: one per processor. More than one needs `model` to be a file, and a system that lets threads share a port.',
  }),
  baseUrl: optional({
    variable: 'BASE_URL',
    kind: origin,
    defaultText: 'the address that the client uses',
    description:
      'The public address of the service, used in links and documents. It may have a path, which a proxy may remove from requests or not.',
  }),
  model: optional({
    variable: 'PORTICO_MODEL',
    kind: path,
    defaultText: '`model.ts` in the working folder, for the command line',
    description: 'The model file, for the command line and for workers. `--model` overrides it.',
  }),
  adminEmail: setting({
    variable: 'PORTICO_ADMIN_EMAIL',
    kind: email,
    default: 'admin@example.com',
    description: 'The e-mail address of the administrator that the first start creates.',
  }),
  adminPassword: optional({
    variable: 'PORTICO_ADMIN_PASSWORD',
    kind: password,
    secret: true,
    defaultText: 'a generated one, printed once',
    description: 'The password of that administrator. Only a generated one is printed.',
  }),
  adminApiKey: optional({
    variable: 'PORTICO_ADMIN_API_KEY',
    kind: apiKey,
    secret: true,
    defaultText: 'a generated one, printed once',
    description:
      'The API key of that administrator. Only a generated one is printed. `portico keys generate` prints a suitable key.',
  }),
  secretKeys: optional({
    variable: 'PORTICO_SECRET_KEY',
    kind: secretKeyList,
    secret: true,
    defaultText:
      'the key file next to the SQLite database, e.g. `./data/portico.key`, which the first start creates',
    description:
      'The key that encrypts secrets in the database: signing keys, one-time codes, sessions. With several keys, the first encrypts and all decrypt. Every node needs the same keys. Required on PostgreSQL, which has no key file.',
  }),
  rateLimit: rateLimitSetting,
  logLevel: setting({
    variable: 'LOG_LEVEL',
    kind: choice('silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'),
    default: 'info',
    description:
      'The lowest level that is logged, as JSON lines on standard output. `info` includes a line for each request, except for successful health checks.',
  }),
  tracesEndpoint: optional({
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: origin,
    secret: true,
    defaultText: 'none: nothing is traced',
    description:
      'The address to which OpenTelemetry traces are sent, as OTLP over HTTP, without `/v1/traces`, e.g. `http://localhost:4318`.',
  }),
  trustProxy: setting({
    variable: 'PORTICO_TRUST_PROXY',
    kind: trustProxy,
    default: false,
    description:
      'Which proxies’ `X-Forwarded-For` is trusted: none, a number of proxies in front of the service, or proxies at these addresses and networks (separated by commas in the variable).',
  }),
  countryHeader: optional({
    variable: 'PORTICO_COUNTRY_HEADER',
    kind: headerName,
    defaultText: 'none: sessions are shown with their address alone',
    description:
      'The header in which a trusted proxy sends the country of the client, as ISO 3166-1 alpha-2, e.g. `CF-IPCountry`, for the list of sessions. Read only from proxies that `trustProxy` names. The proxy must set or remove it in every request.',
  }),
  bodyLimit: setting({
    variable: 'PORTICO_BODY_LIMIT',
    kind: size({ from: '1 B', to: '1 GiB', example: '4 MiB' }),
    default: '1 MiB',
    description:
      'The maximum size of a request body. A request must arrive within 30 seconds, plus one second for each 64 KiB beyond 1 MiB.',
  }),
  keepAliveTimeout: setting({
    variable: 'PORTICO_KEEP_ALIVE_TIMEOUT',
    kind: duration({ from: '1 s', to: '1 h', example: '72 s' }),
    default: '72 s',
    description:
      'How long an idle connection stays open. It should be longer than the load balancer’s idle timeout.',
  }),
  maxConnections: setting({
    variable: 'PORTICO_MAX_CONNECTIONS',
    kind: integer(1, 1_000_000),
    default: 10_000,
    description:
      'The maximum number of open connections, WebSockets included, all workers together. Beyond it, idle connections are closed, idle WebSockets first; if that is not enough, requests on new connections are answered with 503. 10 % beyond it, new connections are closed at once.',
  }),
  maxScan: optional({
    variable: 'PORTICO_MAX_SCAN',
    kind: integer(1, 1_000_000_000),
    defaultText: 'no bound',
    description:
      'The maximum number of database rows that a list may scan, in REST and GraphQL, estimated from its query plan and the sizes of the tables. A list that would scan more is refused with 400 and `SCAN_TOO_LARGE`, for every caller.',
  }),
  maxAnswer: setting({
    variable: 'PORTICO_MAX_ANSWER',
    kind: size({ from: '64 KiB', to: '256 MiB', example: '16 MiB' }),
    default: '16 MiB',
    description:
      'The maximum size of the answer to a read, in REST, GraphQL and in a model’s own code. A larger one is refused with 400 and `ANSWER_TOO_LARGE`, before it is complete. One request may take about four to eight times as much memory, and on SQLite a reader process up to ten times with three levels of relations. The answers to a write, an action or a batch together, and each read of an action, may have one eighth of it, and at least 64 KiB. Beyond that, everything is rolled back and refused in the same way; on SQLite, all requests of the thread wait while such an answer is made.',
  }),
  serverTiming: setting({
    variable: 'PORTICO_SERVER_TIMING',
    kind: flag,
    default: false,
    description:
      'Whether REST and GraphQL responses have a `Server-Timing` header: the time in the database, how many rows the slowest list scanned, and which index it needs. For development only: it reveals internals to every client.',
  }),
  maxDelay: setting({
    variable: 'PORTICO_MAX_DELAY',
    kind: duration({ from: '0 ms', to: '1 min', example: '500 ms' }),
    default: '500 ms',
    description:
      'How long a request may wait in the request queue. A request that would wait longer is refused at once with 503. `0 ms`: no request is refused.',
  }),
  shutdown: membersSetting({
    variable: 'PORTICO_SHUTDOWN',
    description: 'The durations of a shutdown.',
    members: {
      delay: member({
        kind: duration({ from: '0 s', to: '1 h', example: '5 s' }),
        default: '0 s',
        description:
          'How long it continues to serve first, while `/readyz` answers 503 and connections are closed after their next response. Meanwhile, a load balancer can choose other nodes.',
      }),
      grace: member({
        kind: duration({ from: '0 s', to: '1 h', example: '10 s' }),
        default: '10 s',
        description: 'How long it then waits for running requests.',
      }),
    },
  }),
  cors: setting({
    variable: 'PORTICO_CORS',
    kind: flag,
    default: true,
    description: 'Whether web pages of other origins may call the service (CORS), without cookies.',
  }),
  cacheSize: setting({
    variable: 'PORTICO_CACHE_SIZE',
    kind: size({ from: '0 B', to: '64 GiB', example: '64 MiB' }),
    default: '64 MiB',
    description: 'The size of the answer cache, all workers together; `0 B`: no cache.',
  }),
  autoMigrate: setting({
    variable: 'PORTICO_AUTO_MIGRATE',
    kind: flag,
    default: process.env.NODE_ENV !== 'production',
    defaultText: '`true`, and `false` where `NODE_ENV` is `production`',
    description:
      'Whether a start applies additive changes of the model. Other changes always need `portico migrate`. If `false`, a start accepts additions that a newer version has made.',
  }),
  secretOverlap: setting({
    variable: 'PORTICO_SECRET_OVERLAP',
    kind: duration({ from: '0 s', to: '365 d', example: '1 d' }),
    default: '1 d',
    description:
      'How long older secrets of an app remain valid after it got a new one, and deliveries of a webhook are also signed with its previous secret after a rotation.',
  }),
  quotas: quotaSetting,
  ...eventSettings,
  ...fileSettings,
  ...graphqlSettings,
  ...oauthSettings,
  ...accountSettings,
  ...redisSettings,
  ...webhookSettings,
  ...logicSettings,
  ...reactionSettings,
} as const

type Table = typeof settingsTable
type ValueOf<R> = R extends Setting<infer T, infer _> ? T : never
type GivenOf<R> = R extends Setting<infer _, infer G> ? G : never

/** The value of every setting. Durations are in milliseconds, sizes in bytes. */
export type Settings = { readonly [Name in keyof Table]: ValueOf<Table[Name]> }

/** A value as a program may give it: omitted parts get their defaults. */
type GivenValue<Name extends keyof Table> = Name extends 'accounts.providers'
  ? readonly GivenProvider[]
  : GivenOf<Table[Name]>

type Given = { readonly [Name in keyof Table]?: GivenValue<Name> | undefined }

/** The prefixes of settings, e.g. `graphql`. */
type Group = keyof Table extends infer Name
  ? Name extends `${infer Prefix}.${string}`
    ? Prefix
    : never
  : never

/** The settings of a group, without their prefix. */
type Within<Prefix extends string> = {
  readonly [Name in keyof Table as Name extends `${Prefix}.${infer Rest}` ? Rest : never]?:
    | GivenValue<Name>
    | undefined
}

/**
 * Settings as a program gives them. Others come from the environment, or have their defaults.
 * A group can be an object: `{ graphql: { documents: 'registered' } }`.
 */
export type GivenSettings = Given & { readonly [Prefix in Group]?: Within<Prefix> | undefined }

/** Reads every setting: from `given`, else the environment, else the file, else the default. Throws a `SettingsError`. */
export function readSettings(sources: SettingsSources): Settings {
  return readTable(settingsTable, sources) as Settings
}

/** Warnings about variables that begin with `PORTICO_` and set nothing. */
export function settingsWarnings(environment: SettingsSources['environment']): readonly string[] {
  return unknownVariables(settingsTable, environment ?? {})
}

export { SettingsError, type SettingsSources } from './read.ts'
