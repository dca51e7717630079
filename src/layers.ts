/**
 * Which module may import which, as data. `npm run check` enforces it.
 * A module is a folder of `src/` together with the file of the same name.
 */

export interface Module {
  /** The modules that it may import besides itself and the shared ones; `'all'`: every module. */
  readonly imports: readonly string[] | 'all'
  /** The packages that only the modules which list them may import. */
  readonly packages?: readonly string[]
}

/** The modules that every module may import. */
export const shared: readonly string[] = [
  'errors',
  'principal',
  'call',
  'records',
  'private-files',
  'unicode',
  'conditional',
  'static-assets',
  'cache',
  'time-limit',
  'forced-termination',
  'printable',
  'json',
  'media-ranges',
  'pause',
  'epoch-ms',
  'text-file',
  'base-path',
  'awaitable',
]

export const modules: Readonly<Record<string, Module>> = {
  errors: { imports: [] },
  principal: { imports: [] },
  call: { imports: [] },
  records: { imports: [] },
  'private-files': { imports: [] },
  unicode: { imports: [] },
  conditional: { imports: [] },
  'static-assets': { imports: [] },
  cache: { imports: [] },
  'time-limit': { imports: [] },
  'forced-termination': { imports: [] },
  printable: { imports: [] },
  json: { imports: [] },
  'media-ranges': { imports: [] },
  pause: { imports: [] },
  'epoch-ms': { imports: [] },
  'text-file': { imports: [] },
  'base-path': { imports: [] },
  awaitable: { imports: [] },
  model: { imports: [], packages: ['ajv', 'ajv-formats', 'croner'] },
  plan: { imports: ['model'] },
  store: { imports: ['plan', 'model'], packages: ['node:sqlite', 'pg'] },
  cluster: { imports: [], packages: ['ioredis'] },
  outgoing: { imports: [], packages: ['ipaddr.js', 'undici'] },
  idempotency: { imports: ['plan', 'cluster'] },
  rest: { imports: ['plan', 'model', 'events', 'idempotency', 'logic'] },
  events: { imports: ['plan', 'model', 'outgoing'] },
  logic: { imports: ['plan', 'model', 'events', 'outgoing'] },
  explain: { imports: ['plan', 'model', 'events', 'rest', 'store'] },
  graphql: {
    imports: ['plan', 'model', 'events', 'idempotency', 'logic'],
    packages: ['graphql', 'graphql-ws', 'ws'],
  },
  auth: {
    imports: ['plan', 'model', 'cluster', 'outgoing'],
    packages: [
      'oidc-provider',
      'jose',
      'nodemailer',
      'openid-client',
      '@simplewebauthn/server',
      'otpauth',
      'qr',
    ],
  },
  config: { imports: [] },
  http: { imports: ['config'] },
  portal: { imports: ['plan', 'model', 'auth'], packages: ['marked'] },
  observability: {
    imports: ['config'],
    packages: [
      'pino',
      'prom-client',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  generate: { imports: ['model', 'rest', 'outgoing'] },
  // Types only: at run time it imports nothing, since browsers load it.
  client: { imports: ['model'] },
  'env-file': { imports: [] },
  source: { imports: ['model'] },
  project: { imports: ['config', 'model', 'source'] },
  dev: { imports: 'all' },
  testing: { imports: 'all' },
  serve: { imports: 'all' },
  workers: { imports: 'all' },
  cli: { imports: 'all' },
  bin: { imports: 'all' },
  // Of `auth`, only `define.ts`, which a project's own mail templates import.
  index: { imports: ['model', 'serve', 'config', 'auth'] },
  layers: { imports: [] },
}
