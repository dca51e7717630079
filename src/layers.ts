/**
 * Which room may import which, as data. `npm run check` enforces it.
 *
 * `src/` has floors. A floor may import those below it. Its folders are rooms, which import what they name here. What has no
 * room, `src/index.ts` and the like, is an entry of the package.
 */

export interface Room {
  /** The rooms that it may import besides itself and `base`; `'all'`: every room of its floor and below. */
  readonly imports: readonly string[] | 'all'
  /** The packages that only the rooms which list them may import. */
  readonly packages?: readonly string[]
}

/** From the bottom to the top. */
export const floors: readonly string[] = [
  'base',
  'model',
  'engine',
  'delivery',
  'api',
  'identity',
  'web',
  'server',
  'tools',
]

/** What every room may import. */
export const shared: readonly string[] = ['base']

export const rooms: Readonly<Record<string, Room>> = {
  base: { imports: [] },

  model: { imports: [], packages: ['ajv', 'ajv-formats', 'croner'] },

  'engine/plan': { imports: ['model'] },
  'engine/store': { imports: ['engine/plan', 'model'], packages: ['node:sqlite', 'pg'] },
  'engine/files': { imports: ['engine/plan', 'model'], packages: ['file-type'] },
  'engine/log': { imports: ['engine/plan', 'model'] },
  'engine/logic': { imports: ['engine/plan', 'model'] },
  'engine/cluster': { imports: [], packages: ['ioredis'] },
  'engine/idempotency': { imports: ['engine/plan', 'engine/cluster'] },

  'delivery/outgoing': { imports: [], packages: ['ipaddr.js', 'undici'] },
  'delivery/consumer': { imports: ['engine/plan', 'engine/log'] },
  'delivery/deletions': { imports: ['delivery/consumer', 'engine/plan', 'engine/log', 'model'] },
  'delivery/runs': {
    imports: ['delivery/consumer', 'delivery/outgoing', 'engine/plan', 'engine/log', 'engine/logic', 'model'],
  },
  'delivery/webhooks': {
    imports: ['delivery/consumer', 'delivery/outgoing', 'engine/plan', 'engine/log', 'model'],
  },

  'api/events': { imports: ['engine/plan', 'engine/log', 'model'] },
  'api/rest': {
    imports: [
      'api/events',
      'delivery/runs',
      'engine/plan',
      'engine/log',
      'engine/logic',
      'engine/idempotency',
      'engine/files',
      'model',
    ],
    packages: ['@fastify/busboy'],
  },
  'api/graphql': {
    imports: ['api/events', 'engine/plan', 'engine/log', 'engine/logic', 'engine/idempotency', 'model'],
    packages: ['graphql', 'graphql-ws', 'ws'],
  },

  'api/routes': {
    imports: ['api/rest', 'delivery/consumer', 'delivery/runs', 'engine/logic', 'model'],
  },

  'api/explain': {
    imports: ['api/events', 'api/rest', 'api/routes', 'engine/plan', 'engine/log', 'engine/store', 'model'],
  },

  identity: {
    imports: ['engine/plan', 'engine/cluster', 'delivery/outgoing', 'model'],
    packages: ['oidc-provider', 'jose', 'nodemailer', 'openid-client', '@simplewebauthn/server', 'otpauth'],
  },

  'web/pages': { imports: ['identity', 'model'] },
  'web/account': { imports: ['web/pages', 'identity', 'engine/plan', 'model'], packages: ['qr'] },
  'web/portal': { imports: ['web/pages', 'identity', 'engine/plan', 'model'], packages: ['marked'] },

  'server/config': { imports: [] },
  'server/http': { imports: ['server/config'] },
  'server/observability': {
    imports: ['server/config'],
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
  'server/project': { imports: ['server/config', 'model'] },
  'server/serve': { imports: 'all' },
  'server/workers': { imports: 'all' },

  'tools/generate': { imports: ['api/rest', 'delivery/outgoing', 'model'] },
  'tools/dev': { imports: 'all' },
  'tools/testing': { imports: 'all' },
  'tools/cli': { imports: 'all' },

  // Types only: at run time it imports nothing, since browsers load it.
  client: { imports: ['model'] },
  // Of `identity`, only what a project's own mail templates import.
  index: { imports: ['model', 'server/serve', 'server/config', 'identity'] },
  testing: { imports: 'all' },
  bin: { imports: 'all' },
  layers: { imports: [] },
}
