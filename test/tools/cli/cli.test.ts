import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { configurationPage } from '../../../src/server/config/pages.ts'
import { expiry } from '../../../src/tools/cli/commands/keys.ts'
import { table } from '../../../src/tools/cli/table.ts'
import { call } from '../../server/serve/service.ts'
import { type CommandResult, portico as command, type Environment } from '../../system/processes/command.ts'
import { startProcess } from '../../system/processes/portico.ts'
import { library } from '../../system/processes/program.ts'

let folder = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-cli-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

function portico(words: readonly string[], environment: Environment = {}): Promise<CommandResult> {
  return command(words, { folder, environment: { HOST: '127.0.0.1', PORT: '0', ...environment } })
}

/** Starts a service and stops it by a signal after `use`. Returns its output. */
async function whileServing(
  environment: Environment,
  use: (url: string, output: () => string) => Promise<void>,
) {
  const service = await startProcess({ folder, environment })
  try {
    await use(service.url, service.output)
  } finally {
    await service.end()
  }
  return { code: await service.end(), out: service.output() }
}

test('help lists every command, and each command explains itself', async () => {
  const { out, code } = await portico(['--help'])
  assert.equal(code, 0)
  const commands = [...out.matchAll(/^ {2}(\w+(?: [\w-]+)?) {2,}/gm)].map(match => match[1] ?? '')
  assert.ok(commands.length >= 14)
  for (const command of ['start', 'keys create']) {
    assert.ok(commands.includes(command))
    assert.match((await portico([...command.split(' '), '--help'])).out, /Usage: portico .*\n/)
  }
})

test('help explains a command or a group, before and after its name', async () => {
  const commandHelp = (await portico(['start', '--help'])).out
  assert.match(commandHelp, /^Serve the model until SIGTERM or SIGINT\.\n\nUsage: portico start \[options\]/)
  assert.equal((await portico(['help', 'start'])).out, commandHelp)
  assert.equal((await portico(['start', '-h'])).out, commandHelp)
  const groupHelp = (await portico(['users', '--help'])).out
  assert.match(groupHelp, /^Commands:\n {2}users create +Create an account\.\n {2}users list/)
  assert.doesNotMatch(groupHelp, /^ {2}keys/m)
  assert.equal((await portico(['help', 'users'])).out, groupHelp)
  assert.match((await portico(['help', 'users', 'list'])).out, /Usage: portico users list/)
})

const mistakes: readonly (readonly [string[], Environment, number, RegExp])[] = [
  [['bogus'], {}, 2, /no command `bogus`\. `portico help` lists/],
  [['user', 'list'], {}, 2, /no command `user list`\. Did you mean `users list`\?/],
  [['strat', '--port', '4000'], {}, 2, /no command `strat`\. Did you mean `start`\?/],
  [['users', 'lst'], {}, 2, /no command `users lst`\. Did you mean `users list`\?.*users create/],
  [['users'], {}, 2, /`users` needs a command: users create, users list/],
  [['help', 'strat'], {}, 2, /Did you mean `start`\?/],
  [['keys', 'bogus'], {}, 2, /no command `keys bogus`.*keys create/],
  [['keys', 'create'], {}, 2, /needs --user/],
  [
    ['keys', 'revoke', '--user', 'a@b.example'],
    {},
    2,
    /needs <key>\.\n.*portico keys revoke <key> --user <email>/,
  ],
  [['users', 'create', 'a@b.example'], {}, 2, /Unexpected argument 'a@b\.example'\.\n.*users create --email/],
  [['check', '--nope'], {}, 2, /--nope.*portico check/s],
  [['check'], { PORTICO_MODEL: undefined }, 2, /--model model\.ts/],
  [['check', '--model', 'nowhere.ts'], {}, 1, /nowhere\.ts: there is no such model file/],
  [['start'], { PORT: 'abc', LOG_LEVEL: 'x' }, 1, /PORT \(environment\).*abc.*LOG_LEVEL/s],
  [['start'], { DATABASE_URL: '/proc/none/data.db' }, 1, /cannot be opened.*\/proc\/none.*DATABASE_URL/],
  [['start'], { DATABASE_URL: '/dev/null/data.db' }, 1, /\/dev\/null is not a folder/],
  [['start'], { DATABASE_URL: '/dev/zero' }, 1, /\/dev\/zero is not a file/],
  [['start'], { DATABASE_URL: './' }, 1, /names a folder: name a file/],
  [['start'], { DATABASE_URL: '/tmp' }, 1, /is not a file/],
  [['start'], { HOST: 'nowhere.invalid' }, 1, /^HOST: .*nowhere\.invalid: there is no such host\.$/m],
  [['start'], { HOST: '192.0.2.1' }, 1, /192\.0\.2\.1: this machine has no such address\. Set HOST to/],
  [['start'], { REDIS_URL: 'redis://:hunter2%zz@127.0.0.1:1' }, 1, /REDIS_URL \(environment\): .*`%25`/],
  [['documents', 'register', '.'], {}, 1, /^\. is a folder: name the files in it/],
  [['keys', 'create', '--user', 'a@b.example', '--scopes', ','], {}, 2, /`--scopes` is empty\. The scopes/],
  [['keys', 'create', '--user', 'a@b.example', '--expires', '0d'], {}, 2, /is in the past/],
  [['backup'], {}, 2, /portico backup <file>/],
  [['backup', 'copy.db'], { DATABASE_URL: './none.db' }, 1, /no database at .*none\.db/],
  [['restore', 'copy.db'], { DATABASE_URL: './none.db' }, 1, /no backup at copy\.db/],
  [['events', 'restored'], { DATABASE_URL: './none.db' }, 1, /no Portico database at .*none\.db/],
  [['start'], { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/d' }, 1, /^The database cannot be reached/],
]

for (const [words, environment, status, message] of mistakes) {
  test(`\`portico ${words.join(' ')}\` reports the fault without a stack`, async () => {
    const { code, err, out } = await portico(words, environment)
    assert.equal(code, status, err)
    assert.match(err, message)
    assert.doesNotMatch(err + out, /\n +at |hunter2/)
  })
}

test('an invalid model is reported with all its faults and the file', async () => {
  const file = join(folder, 'wrong.ts')
  const source = `import { collection, model, owner, relation } from '${library}'
export default model({
  Posts: collection({ fields: {} }),
  notes: collection({ fields: { user_id: relation('nobody') }, access: { read: owner('nope') } }),
})`
  writeFileSync(file, source)
  for (const command of ['check', 'start']) {
    const { code, err } = await portico([command], { PORTICO_MODEL: file })
    assert.equal(code, 1)
    assert.match(err, /wrong\.ts: /)
    for (const part of ['Posts', 'nobody', 'nope']) assert.ok(err.includes(part), err)
  }
  writeFileSync(join(folder, 'empty.ts'), 'export const x = 1')
  const empty = await portico(['check'], { PORTICO_MODEL: join(folder, 'empty.ts') })
  assert.match(empty.err, /empty\.ts: the model file must have a default export/)
})

test('check lists the values that are published although their items are hidden', async () => {
  const file = join(folder, 'published.ts')
  const source = `import { anyone, collection, count, minus, model, relation, string } from '${library}'
export default model({
  sessions: collection({
    fields: { name: string() },
    computed: { booked: count('bookings'), free: minus(9, count('bookings', { asSystem: true })) },
    access: { read: anyone },
  }),
  bookings: collection({ fields: { session_id: relation('sessions', { inverse: 'bookings' }) } }),
})`
  writeFileSync(file, source)
  const { out, code } = await portico(['check'], { PORTICO_MODEL: file })
  assert.equal(code, 0)
  const [valid, ...lines] = out.trimEnd().split('\n')
  assert.match(valid ?? '', /published\.ts: the model is valid: /)
  assert.deepEqual(lines, [
    'sessions.computed.free publishes a value of all related bookings, hidden ones too.',
  ])
})

test('a CommonJS project, as created by npm init, gets an error that states what to change', async () => {
  const place = mkdtempSync(join(folder, 'commonjs-'))
  writeFileSync(join(place, 'package.json'), '{"type":"commonjs"}')
  writeFileSync(join(place, 'model.ts'), "import { model } from 'portico'\nexport default model({})\n")
  const { err, code } = await command(['check', '--model', 'model.ts'], { folder: place })
  assert.equal(code, 1)
  assert.match(
    err,
    /model\.ts: the model file cannot be loaded\. Write `"type": "module"` into package\.json/,
  )
})

test('the config file is read, and its faults are named', async () => {
  const file = join(folder, 'portico.config.json')
  writeFileSync(file, '{"port": "x", "colour": 1}')
  const wrong = await portico(['check'])
  assert.match(wrong.err, /`colour` \(portico\.config\.json\)/)
  writeFileSync(file, '{"port": ')
  assert.match((await portico(['check'])).err, /portico\.config\.json: the config file is not JSON/)
  rmSync(file)
})

test('a start names variables that look like settings and are none', async () => {
  const { out } = await whileServing({ PORTICO_SIGNUP: 'off' }, async () => {})
  assert.match(
    out,
    /"level":40.*PORTICO_SIGNUP is not a setting and has no effect: did you mean PORTICO_SIGN_UP\?/,
  )
})

test('.env is read: the environment overrides it, and it overrides the config file', async () => {
  const file = join(folder, '.env')
  writeFileSync(file, '# Ours\nLOG_LEVEL=loud\nPORTICO_RATE_LIMIT=many\n')
  writeFileSync(join(folder, 'portico.config.json'), '{"logLevel": "info"}')
  const { err } = await portico(['check'], { PORTICO_RATE_LIMIT: '60' })
  assert.match(err, /LOG_LEVEL.*loud/)
  assert.doesNotMatch(err, /RATE_LIMIT/)
  rmSync(file)
  assert.equal((await portico(['check'])).code, 0)
  rmSync(join(folder, 'portico.config.json'))
})

test('user names cannot send control sequences to an operator’s terminal', () => {
  const output = table(['name'], [{ name: 'a\u001b[31m\r\nb\u009b2J\u202ec' }])
  assert.equal(output, 'name\na\\u001b[31m\\u000d\\u000ab\\u009b2J\\u202ec')
})

test('a table has a row for each item', () => {
  const items = Array.from({ length: 200_000 }, (_, id) => ({ id }))
  assert.equal(table(['id'], items).split('\n').length, items.length + 1)
})

test('one Ctrl-C may cause several signals; a later one ends the process immediately', async () => {
  const environment = { DATABASE_URL: join(folder, 'signals.db'), PORTICO_SHUTDOWN: 'delay=1 s' }
  const service = await startProcess({ folder, environment })
  for (let count = 0; count < 3; count++) process.kill(service.pid, 'SIGINT')
  assert.equal(await service.end('SIGINT'), 0)
  const slow = await startProcess({ folder, environment: { ...environment, PORTICO_SHUTDOWN: 'delay=60 s' } })
  process.kill(slow.pid, 'SIGINT')
  await wait(1500)
  assert.equal(await slow.end('SIGINT'), 1)
})

test('portico print writes the OpenAPI document, the settings, the SQL and the error codes', async () => {
  const { out } = await portico(['print', 'openapi'])
  assert.equal(JSON.parse(out).openapi.slice(0, 3), '3.1')
  assert.equal((await portico(['print', 'config'])).out, configurationPage())
  assert.match((await portico(['print', 'sql'])).out, /CREATE TABLE.*"posts"/)
  assert.match((await portico(['print', 'errors'])).out, /`NOT_FOUND`/)
})

test('the first start prints a password and a working curl command once, and leaks nothing into the log', async () => {
  const environment = { DATABASE_URL: join(folder, 'first.db'), LOG_LEVEL: 'trace' }
  let key = ''
  const first = await whileServing(environment, async (url, output) => {
    key = /API key +(pk_\w+)/.exec(output())?.[1] ?? ''
    const curl = /curl -H "(.*?): (.*?)" (\S+)/.exec(output())
    const answer = await call(curl?.[3] ?? '', { headers: { [curl?.[1] ?? '']: curl?.[2] ?? '' } })
    assert.equal(answer.status, 200)
    await call(`${url}/api/v1/posts?api_key=${key}`)
    await call(`${url}/api/v1/${key}`, { headers: { 'X-Request-Id': key } })
    const created = await call(`${url}/api/v1/api_keys`, { method: 'POST', key, body: { name: 'x' } })
    assert.equal(created.status, 201)
    for (const end of ['', '-wal', '-shm'])
      assert.equal(statSync(environment.DATABASE_URL + end).mode & 0o777, 0o600)
  })
  assert.equal(first.code, 0)
  const log = first.out.split('\n').filter(line => line.startsWith('{'))
  assert.ok(log.length >= 5)
  for (const line of log) assert.doesNotMatch(line, /pk_[A-Za-z0-9]|Bearer|api_key=/)
  assert.equal(first.out.split(key).length - 1, 2, 'the banner contains it twice, the log never')
  const second = await whileServing(environment, async () => {})
  assert.doesNotMatch(second.out, /pk_|password/)
})

test('configured credentials are used and not printed', async () => {
  const secret = { PORTICO_ADMIN_PASSWORD: 'correct-horse', PORTICO_ADMIN_API_KEY: 'given_key_0123456789' }
  const environment = {
    ...secret,
    PORTICO_ADMIN_EMAIL: 'Root@Example.com',
    DATABASE_URL: join(folder, 'given.db'),
    BASE_URL: 'https://api.example.com',
  }
  const { out } = await whileServing(environment, async url => {
    const me = await call(`${url}/api/v1/me`, { key: 'given_key_0123456789' })
    assert.equal(me.json.email, 'root@example.com')
  })
  assert.doesNotMatch(out, /correct-horse|given_key/)
  assert.match(out, /root@example\.com/)
  assert.match(out, /curl .+ https:\/\/api\.example\.com\/api\/v1\/users\n/)
})

test('two concurrent first starts create one administrator', async () => {
  const environment = { DATABASE_URL: join(folder, 'twice.db'), LOG_LEVEL: 'info' }
  const both = await Promise.all([
    whileServing(environment, async () => {}),
    whileServing(environment, async () => {}),
  ])
  assert.equal(both.filter(({ out }) => out.includes('password')).length, 1)
  const { out } = await portico(['users', 'list'], environment)
  assert.equal(out.match(/admin@example\.com/g)?.length, 1)
})

test('changes of keys and roles by another process apply immediately to a running service', async () => {
  const environment = { DATABASE_URL: join(folder, 'running.db') }
  const user = ['--user', 'ann@example.com']
  await whileServing(environment, async url => {
    const created = await portico(['users', 'create', '--email', 'ann@example.com'], environment)
    assert.match(created.out, /^Created user 2, ann@example\.com, with the password \S{20}/)
    const key = (await portico(['keys', 'create', ...user, '--expires', '1d'], environment)).out.trim()
    assert.equal((await call(`${url}/api/v1/me`, { key })).json.role, 'user')
    await portico(['users', 'set-role', 'ann@example.com', 'admin'], environment)
    assert.equal((await call(`${url}/api/v1/me`, { key })).json.role, 'admin')
    const list = await portico(['keys', 'list', ...user], environment)
    assert.ok(list.out.includes(key.slice(0, 10)) && !list.out.includes(key))
    assert.match(list.out, /created_at +last_used_at\n/)
    const revoked = await portico(['keys', 'revoke', key.slice(0, 10), ...user], environment)
    assert.equal(revoked.code, 0, revoked.err)
    assert.equal((await call(`${url}/api/v1/me`, { key })).code, 'UNAUTHORIZED')
    const nobody = await portico(['keys', 'list', '--user', 'x@example.com'], environment)
    assert.match(nobody.err, /No user has the e-mail address x@example\.com/)
    const again = await portico(['users', 'create', '--email', 'ann@example.com'], environment)
    assert.equal(again.code, 1)
    const long = ['users', 'create', '--email', 'bob@example.com', '--password', 'x'.repeat(257)]
    const refused = await portico(long, environment)
    assert.deepEqual([refused.code, refused.err], [2, '`--password` may have at most 256 characters.\n'])
  })
})

test('backup copies a running service, and restore brings it back', async () => {
  const key = 'k'.repeat(32)
  const environment = { DATABASE_URL: join(folder, 'live.db'), PORTICO_ADMIN_API_KEY: key }
  const post = (url: string, title: string) =>
    call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title } })
  const resume = (url: string, after: string) => call(`${url}/api/v1/events?after=${after}`, { key })
  const end = async (url: string) => {
    const { json } = await call(`${url}/api/v1/events`, { key })
    return (json.meta as { next_after: string }).next_after
  }
  let lastSeen = ''
  await whileServing(environment, async url => {
    await post(url, 'before')
    assert.match(
      (await portico(['backup', 'copy.db'], environment)).out,
      /^copy\.db: a verified copy of live\.db/,
    )
    await post(url, 'after')
    lastSeen = await end(url)
    assert.equal((await resume(url, lastSeen)).status, 200)
    assert.match((await portico(['backup', 'copy.db'], environment)).err, /--overwrite/)
    const inUse = await portico(['restore', 'copy.db', '--overwrite'], environment)
    assert.match(inUse.err, /stop the service first/)
    assert.equal(inUse.code, 1)
  })
  assert.equal((await portico(['restore', 'copy.db', '--overwrite'], environment)).code, 0)
  await whileServing(environment, async url => {
    const { json } = await call(`${url}/api/v1/posts`)
    assert.deepEqual(
      (json.data as { title: string }[]).map(({ title }) => title),
      ['before'],
    )
    assert.equal((await resume(url, lastSeen)).status, 410)
    lastSeen = await end(url)
    assert.equal((await resume(url, lastSeen)).status, 200)
    const raised = await portico(['events', 'restored'], environment)
    assert.match(raised.out, /far above all earlier ones/)
    assert.equal((await resume(url, lastSeen)).status, 410, 'while a service runs')
  })
})

test('migrate shows the plan, applies it, and requires a flag before it destroys data', async () => {
  const environment = { DATABASE_URL: join(folder, 'migrate.db'), NODE_ENV: 'production' }
  assert.match((await portico(['migrate'], environment)).out, /posts.*\n\nNothing was changed.*--apply/s)
  assert.match((await portico(['migrate', '--apply'], environment)).out, /Done/)
  assert.match((await portico(['migrate'], environment)).out, /nothing to do/)
  const file = join(folder, 'less.ts')
  writeFileSync(file, `import { model } from '${library}'\nexport default model({})\n`)
  const less = { ...environment, PORTICO_MODEL: file }
  const start = await portico(['start'], { ...less, PORTICO_AUTO_MIGRATE: 'true' })
  assert.match(start.err, /Drop the collection posts.*portico migrate/s)
  const refused = await portico(['migrate', '--apply'], less)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /! .*posts.*--allow-destructive/s)
  assert.match((await portico(['migrate', '--apply', '--allow-destructive'], less)).out, /Done/)
})

test('times of expiry are parsed', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(expiry('30d', now), '2026-01-31T00:00:00.000Z')
  assert.equal(expiry('12h', now), '2026-01-01T12:00:00.000Z')
  assert.equal(expiry('2026-02-01T00:00:00+01:00', now), '2026-01-31T23:00:00.000Z')
  for (const wrong of ['', '30', '30m', 'tomorrow', '2025-01-01', '-1d', '2026-13-01', '2026-02-30']) {
    assert.throws(() => expiry(wrong, now), { name: 'Failure' }, wrong)
  }
})
