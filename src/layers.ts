/**
 * Who may import whom, as data; `npm run check` holds the sources to it.
 * A room is a folder of `src/` together with the file of the same name.
 */

export interface Room {
  /** The rooms that it may import besides itself and the shared ones; `'all'`: every room. */
  readonly imports: readonly string[] | 'all'
  /** The packages that only the rooms which list them may import. */
  readonly packages?: readonly string[]
}

/** What every room may import. */
export const shared: readonly string[] = [
  'errors',
  'principal',
  'call',
  'records',
  'files',
  'probes',
  'unicode',
]

export const rooms: Readonly<Record<string, Room>> = {
  errors: { imports: [] },
  principal: { imports: [] },
  call: { imports: [] },
  records: { imports: ['plan'] },
  files: { imports: [] },
  probes: { imports: [] },
  unicode: { imports: [] },
  model: { imports: [], packages: ['ajv', 'ajv-formats'] },
  plan: { imports: ['model'] },
  store: { imports: ['plan', 'model'], packages: ['node:sqlite', 'pg'] },
  cluster: { imports: [], packages: ['ioredis'] },
  rest: { imports: ['plan', 'model'] },
  graphql: { imports: ['plan', 'model'], packages: ['graphql', 'graphql-ws', 'ws'] },
  auth: {
    imports: ['plan', 'model', 'cluster'],
    packages: ['oidc-provider', 'jose', 'nodemailer', '@simplewebauthn/server', 'otpauth', 'qr'],
  },
  config: { imports: [] },
  http: { imports: ['config'] },
  log: { imports: ['config'], packages: ['pino'] },
  metrics: { imports: ['config'], packages: ['prom-client'] },
  traces: {
    imports: ['config', 'log'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  project: { imports: ['config', 'model'] },
  serve: { imports: 'all' },
  workers: { imports: 'all' },
  cli: { imports: 'all' },
  bin: { imports: 'all' },
  index: { imports: ['model', 'serve', 'config'] },
  layers: { imports: [] },
}
