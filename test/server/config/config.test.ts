import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { test } from 'node:test'
import { catalogue } from '../../../src/base/errors.ts'
import { maxPasswordCharacters } from '../../../src/identity/password.ts'
import {
  type GivenSettings,
  readSettings,
  SettingsError,
  settingsTable,
  settingsWarnings,
} from '../../../src/server/config/config.ts'
import { publicName } from '../../../src/server/config/database.ts'
import { configurationPage, errorsPage } from '../../../src/server/config/pages.ts'
import { readTable } from '../../../src/server/config/read.ts'

type Name = keyof typeof settingsTable

function faultsOf(read: () => unknown): SettingsError['faults'] {
  try {
    read()
  } catch (error) {
    if (error instanceof SettingsError) return error.faults
    throw error
  }
  return []
}

const on = [
  ['true', true],
  ['1', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['off', false],
] as const

interface Examples {
  /** A text for the variable, and the value that it is parsed to. */
  readonly text: readonly (readonly [string, unknown])[]
  /** A value for a config file, and the value that it is parsed to; default: the parsed values of `text` are both. */
  readonly values?: readonly (readonly [unknown, unknown])[]
  /** Invalid texts. */
  readonly wrong: readonly string[]
  /** Invalid values for a config file. */
  readonly wrongValues: readonly unknown[]
}

const numberOf = (least: number, most: number): Examples => ({
  text: [
    [String(least), least],
    [String(most), most],
  ],
  wrong: [
    String(most + 1),
    '-1',
    '1.5',
    '1e3',
    ' 1',
    '0x1',
    'many',
    ...(least > 0 ? [String(least - 1)] : []),
  ],
  wrongValues: [String(most), most + 1, 1.5, -1, null, true],
})

const flags: Examples = { text: on, wrong: ['yes', 'TRUE', ' true'], wrongValues: ['true', 1, null] }

/** Durations and sizes: the bounds, as they are written and parsed. */
const quantityOf =
  (units: readonly string[], foreign: readonly string[]) =>
  (least: string, leastValue: number, most: string, mostValue: number): Examples => {
    const bounds = [
      [least, leastValue],
      [most, mostValue],
      [most.replace(' ', ''), mostValue],
    ] as const
    return {
      text: bounds,
      values: bounds,
      wrong: [
        most.replace(/ .*/, ''),
        '0',
        most.replace(/^\d+/, digits => `${digits}9`),
        `-${most}`,
        ` ${most}`,
        most.replace(' ', '  '),
        `${units[0]} 5`,
        `1.2345 ${units[1]}`,
        ...foreign,
        'many',
      ],
      wrongValues: [5, 0, '5', Number.NaN, null, true, [most], {}],
    }
  }
const durationOf = quantityOf(['ms', 's', 'min', 'h', 'd'], ['5 m', '5 MiB', '5 sec', '1 min 5 s', '1 w'])
const sizeOf = quantityOf(['B', 'KiB', 'MiB', 'GiB', 'TiB'], ['5 MB', '5 kB', '5 s', '5 mib', '5 M'])

/** Settings with members. */
const membersOf = (examples: Required<Examples>): Examples => ({
  ...examples,
  wrong: [...examples.wrong, '=5', 'x', '{}'],
})

const quotas = {
  ...{ keys: 100, webhooks: 50, connections: 2000, addressConnections: 50 },
  ...{ subscriptions: 1000, distinctSubscriptions: 200, cascade: 10_000 },
}
const graphqlLimits = { tokens: 2000, depth: 12, aliases: 30, cost: 5000, listSize: 100 }
const logicLimits = { action: 1000, code: 10_000, route: 60_000, once: 90 * 86_400_000 }
const lifetimes = {
  ...{ accessToken: 3_600_000, refreshToken: 2_592_000_000 },
  ...{ idToken: 3_600_000, session: 1_209_600_000 },
}
const words: Examples = { text: [['x y', 'x y']], wrong: [], wrongValues: ['', 1, null] }

/** What copying leaves around or instead of a value: in a variable, and in a config file alike. */
const copied = (value: string): readonly string[] => [
  `"${value}"`,
  `'${value}'`,
  `“${value}”`,
  `"${value}`,
  `${value}'`,
  ` ${value}`,
  `${value} `,
  `${value}\n`,
  `\ufeff${value}`,
  `$\{VALUE}`,
  `${value}$\{VALUE}`,
  '$VALUE',
  '%VALUE%',
  '<value>',
  `VALUE=${value}`,
  `export VALUE=${value}`,
]
const paths = (...texts: readonly string[]): Examples => ({
  text: same(...texts),
  wrong: [...copied(texts[0] ?? ''), '~/a.ts', 'file:///a.ts', 'https://example.com/a.ts'],
  wrongValues: ['', 1, null, ' a.ts', '"a.ts"'],
})

const origins: Examples = {
  text: [
    ['https://api.example.com', 'https://api.example.com'],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['https://example.com/sub/', 'https://example.com/sub'],
  ],
  wrong: [
    'https://api.example.com ',
    'https://api.\nexample.com',
    'https:api.example.com',
    'https://api.example.com?',
    'https://api.example.com#',
    'example.com',
    'ftp://example.com',
    'https://example.com?x',
    'https://example.com#x',
    'https://a,b.example',
    'https:///example.com',
    'curl https://example.com',
    ...copied('https://api.example.com'),
  ],
  wrongValues: ['', 1, {}, '"https://example.com"'],
}

/** Each text is parsed to itself. */
const same = (...texts: readonly string[]) => texts.map(text => [text, text] as const)

const google = { kind: 'google', clientId: 'an id', clientSecret: 'a secret' }
const corp = { kind: 'oidc', id: 'corp', name: 'Corp', clientId: 'an id', issuer: 'https://id.example.com' }

const trusted = {
  issuer: 'https://id.example.com',
  jwksUri: 'https://id.example.com/jwks',
  audience: 'api',
  user: 'email',
}

const redisUrls = [
  'redis://127.0.0.1',
  'redis://:secret@cache.example.com:6380/3',
  'rediss://user:secret@cache.example.com',
  'unix:///run/redis.sock',
  'unix://:secret@localhost/run/redis.sock?db=2',
]

/** The compiler checks that every setting in the table has examples. */
const examples: { readonly [N in Name]: Examples } = {
  port: numberOf(0, 65_535),
  'logic.limits': membersOf({
    text: [
      ['action=10 ms', { ...logicLimits, action: 10 }],
      ['action=1 min, code=61 s', { ...logicLimits, action: 60_000, code: 61_000 }],
      ['action=999 ms, code=1 s', { ...logicLimits, action: 999, code: 1000 }],
      ['action=2 s, code=1 h', { ...logicLimits, action: 2000, code: 3_600_000 }],
      ['route=1 s, once=1 h', { ...logicLimits, route: 1000, once: 3_600_000 }],
      ['route=1 h, once=3650 d', { ...logicLimits, route: 3_600_000, once: 3650 * 86_400_000 }],
    ],
    values: [
      [{}, logicLimits],
      [
        { action: '500 ms', code: undefined },
        { ...logicLimits, action: 500 },
      ],
    ],
    wrong: [
      '1 s',
      'action=9 ms',
      'action=61 s, code=2 min',
      'action=1 min',
      'action=10 s',
      'code=1 s',
      'action=5',
      'code=999 ms',
      'code=2 h',
      'code=1 s,',
      'route=999 ms',
      'route=61 min',
      'once=59 min',
      'once=3651 d',
      'run=1 s',
    ],
    wrongValues: [1, '1 s', [], null, { action: 500 }, { action: '10 s' }, { code: '2 h' }, { run: '1 s' }],
  }),
  'reactions.timeout': durationOf('1 s', 1000, '1 h', 3_600_000),
  'reactions.allowPrivate': flags,
  'webhooks.allowPrivate': flags,
  host: {
    text: same('0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'node-1.internal'),
    wrong: [...copied('127.0.0.1'), 'http://127.0.0.1', '127.0.0.1:3000', '[::]', 'a b', '*'],
    wrongValues: ['', 1, null, ' ::'],
  },
  database: {
    text: [
      ['./a/b.db', resolve('a/b.db')],
      ['/a/b.db', '/a/b.db'],
      ['file:./a.db', resolve('a.db')],
      ['file:a.db', resolve('a.db')],
      ['sqlite:a.db', resolve('a.db')],
      ['sqlite:/a/b.db', '/a/b.db'],
      ['file:///a/b%20c.db', '/a/b c.db'],
      ['sqlite:///a/b.db', '/a/b.db'],
      ['postgres://u:p@h/db', 'postgres://u:p@h/db'],
      ['SQLite:a.db', resolve('a.db')],
      ['portico.sqlite3', resolve('portico.sqlite3')],
      ['data 2/ünï.db', resolve('data 2/ünï.db')],
      ['./portico', resolve('portico')],
      ['../a@b=c;d', resolve('../a@b=c;d')],
      ["./Ada's files/a.db", resolve("./Ada's files/a.db")],
      ...same(
        'postgresql://h:5433/db?sslmode=verify-full',
        'Postgres://u:p%23%25@[::1]:5432/a%2Fb',
        'postgres://u@%2Frun%2Fpostgresql/db',
        'postgres:///db?host=/run/postgresql&application_name=a&options=-c%20search_path%3Dapp',
      ),
    ],
    wrong: [
      'postgres://u:p@h',
      'postgres://u:p@h:x/db',
      ':memory:',
      'file::memory:',
      'mysql://h/db',
      'http://x/y',
      'file://host/a.db',
      'sqlite:',
      ...copied('postgres://u:p@h/db'),
      ...copied('./data/portico.db'),
      'psql postgres://u:p@h/db',
      'psql "postgres://u:p@h/db"',
      `postgres://h/\${NAME}`,
      'postgres:h/db',
      'postgres//h/db',
      'postgres://h1,h2/db',
      'postgres://h1:5432,h2:5432/db',
      'postgres://h/db/more',
      'postgres://u:50%@h/db',
      'postgres://h/db#x',
      'postgres://h/db?schema=app',
      'postgres://h/db?pgbouncer=true',
      'postgres://h/db?connection_limit=5&sslmode=require',
      'postgres://h/db?sslmode=on',
      'postgres://h/db?sslmode=require&sslmode=disable',
      'jdbc:postgresql://h/db',
      'postgresql+asyncpg://h/db',
      'host=localhost dbname=app',
      'Server=h;Database=db;User Id=u',
      'u:p@h:5432/db',
      'u@h/db',
      'localhost/db',
      'db.example.com',
      'undefined',
      'null',
      'true',
      'postgres',
      '~/portico.db',
      './a.db?mode=rwc',
      'file:./a.db?mode=rwc',
      'file:///a.db?mode=ro',
      'sqlite:///a.db?cache=shared',
      'sqlite://a.db',
      'file:///a.db#x',
      './',
      './data/',
      '..',
      '/',
    ],
    wrongValues: ['', 1, null, '"./a.db"', ' ./a.db', 'undefined'],
  },
  databaseConnections: numberOf(4, 1000),
  databaseReplicas: {
    text: [
      ['postgres://u:p@h/db', ['postgres://u:p@h/db']],
      ['postgres://h1/db, postgresql://h2:5433/db', ['postgres://h1/db', 'postgresql://h2:5433/db']],
    ],
    wrong: [
      ...['./a.db', 'postgres://h', 'postgres://h/db,', ',', 'postgres://h/db;postgres://h2/db x', 'off'],
      '"postgres://h/db,postgres://h2/db"',
      "'postgres://h/db'",
      '["postgres://h/db"]',
      'postgres://h/db, "postgres://h2/db"',
      `postgres://h/db,\${OTHER}`,
      'postgres://h/db?target_session_attrs=standby',
    ],
    wrongValues: [[], '', [' postgres://h/db'], ['postgres://h/db', 1], ['mysql://h/db'], null],
  },
  databaseTimeout: durationOf('500 ms', 500, '10 min', 600_000),
  baseUrl: origins,
  workers: {
    text: [...numberOf(1, 256).text, ['auto', Math.min(256, availableParallelism())]],
    wrong: [...numberOf(1, 256).wrong, 'AUTO', 'off'],
    wrongValues: numberOf(1, 256).wrongValues,
  },
  tracesEndpoint: origins,
  model: paths('./model.ts', '/a b/model.ts', 'model.ts'),
  'files.url': paths('./data/files', '/a b/files', 'files'),
  'files.keepDeleted': durationOf('0 s', 0, '3650 d', 315_360_000_000),
  secretKeys: {
    text: [
      ['abcdefghijklmnopqrstuvwxyz012345', ['abcdefghijklmnopqrstuvwxyz012345']],
      [`${'a'.repeat(40)}, ${'b+/='.repeat(11)}`, ['a'.repeat(40), 'b+/='.repeat(11)]],
    ],
    wrong: [
      'short',
      `${'a'.repeat(40)},short`,
      `${'a'.repeat(40)},`,
      'with a space in it, and long enough for one',
    ],
    wrongValues: ['short', 1, null, [], [1], ['short']],
  },
  adminEmail: {
    text: [['Root@Example.com', 'root@example.com']],
    wrong: ['root', 'a b@c', '@', 'a@', ...copied('root@example.com')],
    wrongValues: ['', 1],
  },
  adminPassword: {
    text: same('hunter2', 'x'.repeat(maxPasswordCharacters), '😀'.repeat(maxPasswordCharacters)),
    wrong: ['x'.repeat(maxPasswordCharacters + 1)],
    wrongValues: ['', 1, 'x'.repeat(maxPasswordCharacters + 1)],
  },
  adminApiKey: {
    text: same('pk_0123456789abcdef'),
    wrong: ['short', 'with space in it 12345', 'ümlaut_0123456789abc', 'x'.repeat(201)],
    wrongValues: ['', 1],
  },
  rateLimit: membersOf({
    text: [
      ['off', { user: 'off', app: 'off', address: 'off', token: 'off' }],
      ['5', { user: 5, app: 10_000, address: 5, token: 60 }],
      ['app=9, address=7, token=off', { user: 1000, app: 9, address: 7, token: 'off' }],
    ],
    values: [
      ['off', { user: 'off', app: 'off', address: 'off', token: 'off' }],
      [5, { user: 5, app: 10_000, address: 5, token: 60 }],
      [{ user: 'off' }, { user: 'off', app: 10_000, address: 120, token: 60 }],
    ],
    wrong: ['-1', 'none', '1.5', '10000000000', 'user=-1', 'users=5', '5, address=7'],
    wrongValues: ['5', true, null, [], { user: '5' }, { address: true }, { addresses: 5 }],
  }),
  logLevel: {
    text: same('info', 'silent'),
    wrong: ['verbose', 'INFO'],
    wrongValues: [30, 'loud'],
  },
  countryHeader: {
    text: same('CF-IPCountry', 'x-country'),
    wrong: ['X Country', 'X-Country:'],
    wrongValues: ['', 1, ['X-Country']],
  },
  trustProxy: {
    text: [
      ['false', false],
      ['off', false],
      ['2', 2],
      ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ],
    wrong: ['true', '-1', '10.0.0.0/99', 'proxy.example', '10.0.0.1,,', '["10.0.0.1"]', '"10.0.0.1"'],
    wrongValues: [true, '1', [], [1], ['x'], 0.5],
  },
  bodyLimit: sizeOf('1 B', 1, '1 GiB', 1_073_741_824),
  keepAliveTimeout: durationOf('1 s', 1000, '1 h', 3_600_000),
  maxConnections: numberOf(1, 1_000_000),
  maxDelay: durationOf('0 ms', 0, '1 min', 60_000),
  maxAnswer: sizeOf('64 KiB', 65_536, '256 MiB', 268_435_456),
  maxScan: numberOf(1, 1_000_000_000),
  serverTiming: flags,
  shutdown: membersOf({
    text: [
      ['grace=30 s', { delay: 0, grace: 30_000 }],
      ['delay=5 s, grace=1 min', { delay: 5000, grace: 60_000 }],
    ],
    values: [
      [{}, { delay: 0, grace: 10_000 }],
      [
        { delay: '5 s', grace: undefined },
        { delay: 5000, grace: 10_000 },
      ],
    ],
    wrong: ['10 s', 'grace=30', 'grace=30 s,', 'grace=2 h', 'grace=1500 ms', 'grace=1 s, grace=2 s'],
    wrongValues: [30, '30 s', [], null, { grace: 30 }, { grace: '2 h' }, { wait: '1 s' }],
  }),
  cors: flags,
  rowSecurity: flags,
  cacheSize: sizeOf('0 B', 0, '64 GiB', 68_719_476_736),
  secretOverlap: durationOf('0 s', 0, '365 d', 31_536_000_000),
  quotas: membersOf({
    text: [['keys=5, connections=7', { ...quotas, keys: 5, connections: 7 }]],
    values: [[{ webhooks: 3 }, { ...quotas, webhooks: 3 }]],
    wrong: ['5', 'keys=0', 'keys=x', 'key=5', 'keys 5', 'keys=5;webhooks=5', 'toString=1'],
    wrongValues: [5, '5', null, { keys: '5' }, { keys: 0 }, { key: 5 }],
  }),
  autoMigrate: flags,
  'graphql.documents': {
    text: [
      ['any', { mode: 'any', file: './portico.documents.json' }],
      ['registered', { mode: 'registered', file: './portico.documents.json' }],
      ['./a b/documents.json', { mode: 'registered', file: './a b/documents.json' }],
    ],
    values: [['registered', { mode: 'registered', file: './portico.documents.json' }]],
    wrong: ['none', 'ANY', 'documents', '~/documents.json', 'https://example.com/a.json', '"./a.json"'],
    wrongValues: [true, null, 'all', ''],
  },
  'graphql.limits': membersOf({
    text: [['depth=5,cost=100', { ...graphqlLimits, depth: 5, cost: 100 }]],
    values: [[{ tokens: 9 }, { ...graphqlLimits, tokens: 9 }]],
    wrong: ['5', 'depth=0', 'depth=101', 'deep=5'],
    wrongValues: [5, null, { depth: 0 }, { depth: '5' }, { deep: 5 }],
  }),
  'graphql.introspection': flags,
  'oauth.accessTokenFormat': {
    text: same('opaque', 'jwt'),
    wrong: ['JWT', 'x'],
    wrongValues: ['JWT', 1, null],
  },
  'oauth.scopeSeparator': {
    text: [
      [',', ','],
      [' ', ' '],
      ['comma', ','],
      ['space', ' '],
    ],
    wrong: [';', ', ', 'toString'],
    wrongValues: [';', 1, null],
  },
  'events.retention': membersOf({
    text: [['age=7 d', { age: 604_800_000, size: 1_073_741_824 }]],
    values: [[{ size: '2 GiB' }, { age: 2_592_000_000, size: 2_147_483_648 }]],
    wrong: ['7 d', 'age=7', 'age=7 GiB', 'age=59 s', 'size=1 KiB', 'size=7 d'],
    wrongValues: ['7 d', 7, null, { age: 604_800 }, { age: '1 s' }],
  }),
  'oauth.lifetimes': membersOf({
    text: [
      ['accessToken=10 min, session=7 d', { ...lifetimes, accessToken: 600_000, session: 604_800_000 }],
      ['refreshToken=365d, idToken=60s', { ...lifetimes, refreshToken: 31_536_000_000, idToken: 60_000 }],
    ],
    values: [[{ idToken: '5 min' }, { ...lifetimes, idToken: 300_000 }]],
    wrong: ['1 h', 'accessToken=3600', 'accessToken=59 s', 'accessToken=90500 ms', 'session=1 min'],
    wrongValues: ['1 h', 3600, null, { accessToken: 3600 }, { access: '1 h' }],
  }),
  'oauth.refreshReplay': durationOf('0 s', 0, '60 s', 60_000),
  'oauth.registrationToken': {
    text: same('abcdefghijklmnopqrstuvwxyz0123456789'),
    wrong: ['short', 'with a space in it, and long enough for one'],
    wrongValues: ['short', 1, null],
  },
  'oauth.trustedIssuers': {
    text: [
      ['[]', []],
      [JSON.stringify([trusted]), [trusted]],
    ],
    wrong: [
      'x',
      '{}',
      JSON.stringify([{ ...trusted, jwksUri: 'http://id.example.com/jwks' }]),
      JSON.stringify([{ ...trusted, issuer: 'x' }]),
      JSON.stringify([{ ...trusted, user: 'name' }]),
      JSON.stringify([{ ...trusted, more: 1 }]),
      JSON.stringify([{ ...trusted, audience: '' }]),
      ...copied(JSON.stringify([trusted])).filter(text => text.trim() !== JSON.stringify([trusted])),
      ...copied(trusted.issuer).map(issuer => JSON.stringify([{ ...trusted, issuer }])),
      ...copied(trusted.jwksUri).map(jwksUri => JSON.stringify([{ ...trusted, jwksUri }])),
      ...copied(trusted.audience).map(audience => JSON.stringify([{ ...trusted, audience }])),
    ],
    wrongValues: ['[]', {}, null, [null], [1]],
  },
  'redis.url': {
    text: same(...redisUrls),
    wrong: [
      'redis',
      '127.0.0.1:6379',
      'http://127.0.0.1',
      'redis://',
      'redis://127.0.0.1/zero',
      'redis://127.0.0.1?enableOfflineQueue=true',
      'unix://',
      'unix:///run/redis.sock?path=/etc',
      'redis://:50%@127.0.0.1',
      'unix:///run/50%.sock',
      ...copied('redis://127.0.0.1'),
      'redis-cli -u redis://127.0.0.1',
      'redis:127.0.0.1',
      'redis://h1,h2',
    ],
    wrongValues: ['redis', 6379, null, {}],
  },
  'redis.prefix': {
    text: same('portico:', '{shop}.a_b-1:'),
    wrong: ['a b', 'a*', 'x'.repeat(61), 'é'],
    wrongValues: ['', 1, null],
  },
  'redis.timeout': durationOf('5 ms', 5, '5 s', 5000),
  'accounts.signUp': {
    text: same('off', 'open', 'confirmed'),
    wrong: ['on', 'Open'],
    wrongValues: [false, null],
  },
  'accounts.selfDeletion': flags,
  'accounts.providers': {
    text: [
      ['[]', []],
      [JSON.stringify([google]), [{ id: 'google', name: 'Google', ...google }]],
      [JSON.stringify([corp]), [{ scopes: ['openid', 'profile', 'email'], allowPrivate: false, ...corp }]],
    ],
    wrong: [
      'x',
      '{}',
      '[null]',
      '[1]',
      JSON.stringify([{ ...google, kind: 'toString' }]),
      JSON.stringify([{ ...google, clientSecret: undefined }]),
      JSON.stringify([{ ...google, tenant: 'common' }]),
      JSON.stringify([{ ...google, id: '../x' }]),
      JSON.stringify([google, google]),
      JSON.stringify([{ ...corp, issuer: 'http://id.example.com' }]),
      JSON.stringify([{ ...corp, issuer: 'https://user:pass@id.example.com' }]),
      ...copied(corp.issuer).map(issuer => JSON.stringify([{ ...corp, issuer }])),
      ...copied('secret').map(clientSecret => JSON.stringify([{ ...google, clientSecret }])),
      JSON.stringify([{ kind: 'microsoft', clientId: 'a', clientSecret: 'b', tenant: 'common/..' }]),
      JSON.stringify([{ kind: 'apple', clientId: 'a', teamId: 'b', keyId: 'c', privateKey: 'no PEM' }]),
    ],
    wrongValues: ['[]', {}, null],
  },
  'theme.name': words,
  'theme.logo': {
    text: same('https://example.com/logo.svg'),
    wrong: ['logo.svg', 'javascript:alert(1)', ...copied('https://example.com/logo.svg')],
    wrongValues: ['logo.svg', 1, null],
  },
  'theme.colour': {
    text: [['#1F5FBF', '#1f5fbf']],
    wrong: ['red', '#fff', '#12345g'],
    wrongValues: ['red', 1, null],
  },
  'mail.smtp': {
    text: same('smtps://u:p@mail.example.com', 'smtp://h:587?requireTLS=true&tls.servername=h'),
    wrong: [
      ...['mail.example.com', 'https://mail.example.com', 'smtp:mail.example.com', 'smtp://h?encryption=tls'],
      ...copied('smtps://u:p@mail.example.com'),
    ],
    wrongValues: ['mail.example.com', 1, null],
  },
  'docs.guides': {
    text: same('none', 'callers', 'all'),
    wrong: ['operators', 'on'],
    wrongValues: [true, 1, null],
  },
  'mail.templates': paths('./mails.ts'),
  'mail.language': {
    text: [
      ['de', 'de'],
      ['pt-br', 'pt-BR'],
    ],
    wrong: ['x', 'en_GB', 'de, en', 'language-tag-too-long'],
    wrongValues: ['', 1, null],
  },
  'mail.from': {
    text: same('a@example.com', 'Blog <a@example.com>', '"Blog, Inc." <a@example.com>'),
    wrong: ['a', 'a@b@c', 'a <b', '"a@example.com"', '"Blog <a@example.com>"', `\${SENDER}`],
    wrongValues: ['a', 1, null],
  },
}

for (const name of Object.keys(examples) as Name[]) {
  const { variable, kind } = settingsTable[name]
  test(`${variable} is read from the environment, and invalid values are named`, () => {
    for (const [text, value] of examples[name].text) {
      assert.deepEqual(readSettings({ environment: { [variable]: text } })[name], value, text)
    }
    for (const text of examples[name].wrong) {
      const [fault, ...more] = faultsOf(() => readSettings({ environment: { [variable]: text } }))
      assert.equal(fault?.place, `${variable} (environment)`, text)
      assert.equal(more.length, 0)
      assert.ok(fault.message.length > 10)
    }
  })

  test(`${name} is read from a config file and from an argument`, () => {
    const parsed = new Set(examples[name].text.map(([, value]) => value))
    const values = examples[name].values ?? [...parsed].map(value => [value, value] as const)
    for (const [value, expected] of values) {
      assert.deepEqual(readSettings({ file: { path: 'f', values: { [name]: value } } })[name], expected)
      assert.deepEqual(readSettings({ given: { [name]: value } })[name], expected)
    }
    for (const value of examples[name].wrongValues) {
      const [filed] = faultsOf(() => readSettings({ file: { path: 'f.json', values: { [name]: value } } }))
      assert.equal(filed?.place, `\`${name}\` (f.json)`, JSON.stringify(value))
      const [given] = faultsOf(() => readSettings({ given: { [name]: value } }))
      assert.equal(given?.place, `\`${name}\` (settings)`, JSON.stringify(value))
      const saysItself =
        name === 'database' ||
        name === 'accounts.providers' ||
        /remove it|write a unit|^`|^has `/.test(given.message)
      assert.ok(given.message.includes(kind.expected) || given.message.includes('`x`') || saysItself)
    }
  })
}

test('the first source with a setting takes precedence: argument, environment, file, default', () => {
  const file = { path: 'f', values: { port: 1, bodyLimit: '1 B', host: 'f' } }
  const environment = { PORT: '2', PORTICO_BODY_LIMIT: '2 B', HOST: '' }
  const settings = readSettings({ given: { port: 3, host: undefined }, environment, file })
  assert.deepEqual([settings.port, settings.bodyLimit, settings.host, settings.cors], [3, 2, 'f', true])
})

test('an action may not last as long as code that counts as endless', () => {
  const [fault] = faultsOf(() => readSettings({ environment: { PORTICO_LOGIC_LIMITS: 'action=30 s' } }))
  assert.equal(fault?.place, 'PORTICO_LOGIC_LIMITS (environment)')
  assert.match(fault.message, /^`action` must be shorter than `code`: /)
})

test('every default is a valid value of its setting', () => {
  const settings = readSettings({})
  for (const [name, row] of Object.entries(settingsTable)) {
    if (row.default === undefined) assert.equal(settings[name as Name], undefined)
    else assert.notEqual(settings[name as Name], undefined, name)
  }
  assert.ok(isAbsolute(settings.database))
})

test('all faults are reported at once, each with its place', () => {
  const faults = faultsOf(() =>
    readSettings({
      given: { colour: 1 },
      environment: { PORT: 'x', LOG_LEVEL: 'y' },
      file: { path: 'portico.config.json', values: { cors: 1, prot: 2 } },
    }),
  )
  assert.deepEqual(faults.map(fault => fault.place).sort(), [
    'LOG_LEVEL (environment)',
    'PORT (environment)',
    '`colour` (settings)',
    '`cors` (portico.config.json)',
    '`prot` (portico.config.json)',
  ])
})

test('a duration or a size without a unit is refused with its place and an example', () => {
  const messageOf = (environment: Readonly<Record<string, string>>) =>
    faultsOf(() => readSettings({ environment }))
      .map(({ place, message }) => `${place}: ${message}`)
      .join()
  const expected = [
    ['PORTICO_MAX_ANSWER', '16777216', 'write a unit, for instance "16 MiB".'],
    ['PORTICO_MAX_DELAY', '500', 'write a unit, for instance "500 ms".'],
    ['PORTICO_SHUTDOWN', 'grace=10', '`grace`: write a unit, for instance "10 s".'],
    [
      'PORTICO_CACHE_SIZE',
      '64 MB',
      'has the unknown unit `MB`: write one of B, KiB, MiB, GiB, TiB, for instance "64 MiB".',
    ],
    [
      'PORTICO_KEEP_ALIVE_TIMEOUT',
      '1500 ms',
      'must be a duration from `1 s` to `1 h`, a whole number of s, for instance `72 s`. It is "1500 ms".',
    ],
  ] as const
  for (const [variable, text, message] of expected)
    assert.equal(messageOf({ [variable]: text }), `${variable} (environment): ${message}`)
  const [filed] = faultsOf(() => readSettings({ file: { path: 'f.json', values: { bodyLimit: 4194304 } } }))
  assert.deepEqual(filed, { place: '`bodyLimit` (f.json)', message: 'write a unit, for instance "4 MiB".' })
})

test('a duration may have decimals, if it is a whole number of its smallest unit', () => {
  const { maxDelay, secretOverlap } = readSettings({
    given: { maxDelay: '1.5 s', secretOverlap: '1.5 h' },
  })
  assert.deepEqual([maxDelay, secretOverlap], [1500, 5_400_000])
})

test('there are at most 62 settings', () => {
  assert.ok(Object.keys(settingsTable).length <= 62)
})

test('names of Object.prototype are not settings', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const values = JSON.parse(`{"${name}": 1}`)
    assert.equal(faultsOf(() => readSettings({ file: { path: 'f', values } })).length, 1, name)
  }
})

for (const values of [undefined, null, [], 'x', 7]) {
  test(`a config file that contains ${JSON.stringify(values)} is refused`, () => {
    assert.equal(faultsOf(() => readSettings({ file: { path: 'f', values } }))[0]?.place, 'f')
  })
}

test('what a copied value should not contain is said, and what would be right', () => {
  const expected = [
    ['"postgres://u:hunter2@h/d"', /begins or ends with a quotation mark/],
    [' postgres://u:hunter2@h/d', /begins or ends with a space/],
    ['psql postgres://u:hunter2@h/d', /begins with `psql `: write only the URL/],
    ['DATABASE_URL=postgres://u:hunter2@h/d', /begins with `DATABASE_URL=`/],
    [`\${DATABASE_URL}`, /placeholder for DATABASE_URL/],
    ['postgres://u:hunter2@h/d?connection_limit=5', /`connection_limit`.*PORTICO_DB_CONNECTIONS/],
    ['postgres://u:hunter2@h/d?schema=x', /`schema`.*search_path/],
    ['undefined', /write a file as `\.\/name`/],
    ['u:hunter2@h/d', /postgres:\/\/user:password@host/],
    ['file:./a.db?mode=rwc', /parameters after `\?`/],
  ] as const
  for (const [text, message] of expected) {
    const [fault] = faultsOf(() => readSettings({ environment: { DATABASE_URL: text } }))
    assert.match(fault?.message ?? '', message, text)
    assert.doesNotMatch(fault?.message ?? '', /hunter2/, text)
  }
})

test('an invalid secret is not repeated', () => {
  const [fault] = faultsOf(() => readSettings({ environment: { PORTICO_ADMIN_API_KEY: 'my secret' } }))
  assert.ok(fault && !fault.message.includes('my secret'))
})

test('a value can be in a file that the variable with _FILE names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'))
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const read = (environment: Record<string, string>) => readSettings({ environment })
  try {
    const url = 'postgres://ada:pass%20word@db:5432/shop'
    assert.equal(read({ DATABASE_URL_FILE: write('url', `${url}\n`) }).database, url)
    assert.equal(read({ DATABASE_URL_FILE: write('windows', `\ufeff${url}\r\n`) }).database, url)
    assert.equal(read({ PORT_FILE: '' }).port, 3000)
    // The environment precedes the config file, however it gives the value.
    const file = { path: 'portico.config.json', values: { port: 81 } }
    assert.equal(readSettings({ environment: { PORT_FILE: write('port', '82') }, file }).port, 82)

    const missing = join(folder, 'missing')
    const key = write('key', 'hunter2')
    const faults = [
      [
        { PORTICO_SECRET_KEY_FILE: missing },
        'PORTICO_SECRET_KEY_FILE',
        /^names a file that cannot be read: ENOENT.*missing/,
      ],
      [
        { PORTICO_SECRET_KEY_FILE: folder },
        'PORTICO_SECRET_KEY_FILE',
        /^names a file that cannot be read: EISDIR/,
      ],
      [
        { PORTICO_SECRET_KEY_FILE: write('none', '\n') },
        'PORTICO_SECRET_KEY_FILE',
        /^names an empty file: .*none\.$/,
      ],
      [
        { PORTICO_SECRET_KEY_FILE: key, PORTICO_SECRET_KEY: 'x' },
        'PORTICO_SECRET_KEY_FILE',
        /^is set as well as PORTICO_SECRET_KEY: keep one\.$/,
      ],
      [{ PORT_FILE: key }, 'PORT_FILE', /^must be a whole number from 0 to 65535\.$/],
    ] as const
    for (const [environment, variable, message] of faults) {
      const [fault, second] = faultsOf(() => read(environment))
      assert.equal(fault?.place, `${variable} (environment)`)
      assert.match(fault.message, message)
      assert.equal(second, undefined)
    }
    assert.deepEqual(settingsWarnings({ PORTICO_SECRET_KEY_FILE: key }), [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a password in a database URL is never shown', () => {
  for (const name of [
    'postgres://u:hunter2@h',
    'postgres://u:hunter2@h:x/d',
    'mysql://u:hunter2@h/d',
    'mysql://u:a/hunter2@h/d',
  ]) {
    const [fault] = faultsOf(() => readSettings({ environment: { DATABASE_URL: name } }))
    assert.match(fault?.message ?? '', /postgres:\/\/user:password@host/)
    assert.doesNotMatch(fault?.message ?? '', /hunter2/)
    const [replica] = faultsOf(() => readSettings({ environment: { DATABASE_REPLICA_URLS: name } }))
    assert.match(replica?.message ?? '', /postgres:\/\/user:password@host/)
    assert.doesNotMatch(replica?.message ?? '', /hunter2/)
  }
  assert.equal(publicName('postgres://u:hunter2@h:5433/d?password=hunter2'), 'postgres://u@h:5433/d')
  assert.equal(publicName('postgresql://u:p%40@h/d'), 'postgresql://u@h/d')
  assert.equal(publicName('/var/lib/a:b@c.db'), '/var/lib/a:b@c.db')
})

test('the settings page lists every setting with its variable and description', () => {
  const page = configurationPage()
  for (const [name, { variable, description }] of Object.entries(settingsTable)) {
    assert.ok(
      page.includes(`## \`${name}\``) && page.includes(`\`${variable}\``) && page.includes(description),
      name,
    )
  }
  assert.equal(page.match(/^## /gm)?.length, Object.keys(settingsTable).length)
})

test('every variable belongs to one setting', () => {
  const variables = Object.values(settingsTable).map(row => row.variable)
  assert.equal(new Set(variables).size, variables.length)
})

test('the errors page lists every code with its status', () => {
  const page = errorsPage()
  for (const [code, { status, hint }] of Object.entries(catalogue)) {
    const line = page.split('\n').find(text => text.includes(`\`${code}\` |`))
    assert.ok(line?.startsWith(`| ${status} |`) && line.includes(hint), code)
  }
})

test('a group of settings is an object, or names with a dot', () => {
  const grouped = readSettings({ given: { graphql: { documents: 'registered' } } })
  const dotted = readSettings({ given: { 'graphql.documents': 'registered' } })
  const filed = readSettings({ file: { path: 'c.json', values: { graphql: { limits: { depth: 5 } } } } })
  assert.equal(grouped['graphql.documents'].mode, 'registered')
  assert.equal(dotted['graphql.documents'].mode, 'registered')
  assert.equal(filed['graphql.limits'].depth, 5)
})

test('the type of given settings has every group', () => {
  const given: Required<Pick<GivenSettings, 'logic' | 'theme'>> = {
    logic: { limits: { action: '500 ms' } },
    theme: { name: 'Blog' },
  }
  const settings = readSettings({ given })
  assert.deepEqual([settings['logic.limits'].action, settings['theme.name']], [500, 'Blog'])
})

test('an undefined member of a provider gets its default', () => {
  const secret = { clientId: 'a', clientSecret: 'b' }
  const providers = {
    'accounts.providers': [{ kind: 'microsoft', tenant: undefined, name: undefined, ...secret }],
  }
  assert.deepEqual(readTable(settingsTable, { given: providers })['accounts.providers'], [
    { kind: 'microsoft', id: 'microsoft', name: 'Microsoft', tenant: 'common', ...secret },
  ])
})

test('an undefined group has no effect', () => {
  const settings = readSettings({ given: { graphql: undefined, redis: undefined } })
  assert.equal(settings['graphql.documents'].mode, 'any')
})

test('an unknown member of a group, and a group that is not an object, are faults', () => {
  const places = (settings: Readonly<Record<string, unknown>>) => {
    try {
      readSettings({ given: settings })
      return []
    } catch (error) {
      assert.ok(error instanceof SettingsError)
      return error.faults.map(fault => fault.place)
    }
  }
  assert.deepEqual(places({ graphql: { document: 'any' } }), ['`graphql.document` (settings)'])
  assert.deepEqual(places({ graphql: 'any' }), ['`graphql` (settings)'])
})

test('variables that look like settings and are none are named, with the one that was meant', () => {
  const environment = {
    PORTICO_ACCOUNTS_SIGN_UP: 'off',
    PORTICO_RATELIMIT: '60',
    PORTICO_NOTHING: 'x',
    PORTICO_CACHE_BYTES: '0',
    PORTICO_PORT: '8080',
  }
  assert.deepEqual(settingsWarnings(environment), [
    'the variable PORTICO_ACCOUNTS_SIGN_UP is not a setting and has no effect: did you mean PORTICO_SIGN_UP?',
    'the variable PORTICO_RATELIMIT is not a setting and has no effect: did you mean PORTICO_RATE_LIMIT?',
    'the variable PORTICO_NOTHING is not a setting and has no effect',
    'the variable PORTICO_CACHE_BYTES is not a setting and has no effect',
    'the variable PORTICO_PORT is not a setting and has no effect: did you mean PORT?',
  ])
})

test('settings, empty variables, and what Kubernetes sets for a service called portico are not', () => {
  const environment = {
    PORTICO_SIGN_UP: 'off',
    PORTICO_MODEL: './model.ts',
    PORTICO_OLD: '',
    HOME: '/root',
    PORTICO_SERVICE_HOST: '10.0.0.7',
    PORTICO_SERVICE_PORT_HTTP: '80',
    PORTICO_PORT: 'tcp://10.0.0.7:80',
    PORTICO_PORT_80_TCP_ADDR: '10.0.0.7',
    PORTICO_HEADLESS_SERVICE_PORT: '80',
  }
  assert.deepEqual(settingsWarnings(environment), [])
})
