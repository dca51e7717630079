/** The command line. Commands are rows of a table; each loads only what it needs. */
import { readFileSync } from 'node:fs'
import type { Opened } from './cli/accounts.ts'
import {
  type Command,
  commandHelp,
  findCommand,
  generalHelp,
  type Option,
  readWritten,
  type Written,
} from './cli/commands.ts'
import { Failure } from './cli/failure.ts'
import type { Settings } from './config.ts'
import type { Records } from './records.ts'

const model: Option = { value: 'file', sentence: 'The model file; else PORTICO_MODEL.' }
const database: Option = { value: 'file', sentence: 'The database; else DATABASE_URL.' }
const user: Option = { value: 'email', sentence: 'Whose keys.', required: true }
const files = { model, database }

async function settingsOf(written: Written): Promise<Settings> {
  const { loadSettings } = await import('./cli/files.ts')
  const port = written.text('port')
  return loadSettings({
    model: written.text('model'),
    database: written.text('database'),
    port: port === undefined ? undefined : /^\d+$/.test(port) ? Number(port) : port,
  })
}

/** The checked model of a command, with its settings. */
async function modelOf(written: Written) {
  const { loadModel } = await import('./cli/files.ts')
  const settings = await settingsOf(written)
  return { settings, ...(await loadModel(settings)) }
}

interface OpenedBy extends Opened {
  /** With what is secret in them open. */
  readonly records: () => Promise<Records>
  /** As they are stored. */
  readonly stored: Records
  readonly settings: Settings
}

/** Opens the database beside a service that may be running, and closes it after `use`. */
async function withDatabase(
  written: Written,
  use: (opened: OpenedBy, accounts: typeof import('./cli/accounts.ts')) => Promise<string>,
): Promise<string> {
  const { settings, model } = await modelOf(written)
  const { createRun, openStore } = await import('./serve/store.ts')
  const { createGuard } = await import('./plan/guard.ts')
  const accounts = await import('./cli/accounts.ts')
  const store = await openStore(model, settings)
  try {
    const run = createRun(createGuard(model), store)
    const records = async () => {
      const { openRecords } = await import('./auth/sealing/open.ts')
      const { secretKeys: keys, database: file } = settings
      return openRecords({
        records: store.records,
        keys,
        database: file,
        note: text => console.error(text),
        rewrite: () => store.rewrite(),
      })
    }
    return await use({ model, run, records, stored: store.records, settings }, accounts)
  } finally {
    await store.close()
  }
}

const commands: readonly Command[] = [
  {
    name: 'start',
    sentence: 'Serve the model until SIGTERM or SIGINT.',
    options: { ...files, port: { value: 'number', sentence: 'The port; else PORT.' } },
    async run(written) {
      const { startAndWait } = await import('./cli/start.ts')
      return startAndWait(await settingsOf(written))
    },
  },
  {
    name: 'check',
    sentence: 'Check the model, and list every fault of it.',
    options: { model },
    async run(written) {
      const { model: checked, path } = await modelOf(written)
      return `${path}: the model is right: ${[...checked.collections.keys()].join(', ')}.\n`
    },
  },
  {
    name: 'migrate',
    sentence: 'Show what the model changes in the database, and do it with --apply.',
    options: {
      apply: { value: undefined, sentence: 'Do it, all or nothing.' },
      'allow-destructive': { value: undefined, sentence: 'Also the steps that lose data.' },
      sql: { value: undefined, sentence: 'Show the SQL of each step.' },
      ...files,
    },
    async run(written) {
      const { migrate } = await import('./cli/migrate.ts')
      const { model: checked, settings } = await modelOf(written)
      return migrate(checked, settings, {
        apply: written.flag('apply'),
        allowDestructive: written.flag('allow-destructive'),
        sql: written.flag('sql'),
      })
    },
  },
  {
    name: 'copy',
    sentence: 'Copy a database into an empty one, SQLite or PostgreSQL, with everything in it.',
    options: {
      from: { value: 'database', sentence: 'A SQLite file, or postgres://…', required: true },
      to: { value: 'database', sentence: 'A SQLite file, or postgres://…', required: true },
      live: { value: undefined, sentence: 'Leave behind what is written to the source meanwhile.' },
      model,
    },
    async run(written) {
      const { copy } = await import('./cli/copy.ts')
      return copy((await modelOf(written)).model, {
        from: written.needed('from'),
        to: written.needed('to'),
        live: written.flag('live'),
      })
    },
  },
  {
    name: 'backup',
    arguments: ['file'],
    sentence: 'Copy the database into a file while it is in use, and check the copy.',
    options: { overwrite: { value: undefined, sentence: 'Replace a file that is there.' }, database },
    async run(written) {
      const { backupText } = await import('./cli/backup.ts')
      return backupText(await settingsOf(written), written.arguments[0] ?? '', written.flag('overwrite'))
    },
  },
  {
    name: 'restore',
    arguments: ['file'],
    sentence: 'Put a backup in the place of the database, while no service runs.',
    options: { overwrite: { value: undefined, sentence: 'Replace a database that is there.' }, database },
    async run(written) {
      const { restoreText } = await import('./cli/backup.ts')
      return restoreText(await settingsOf(written), written.arguments[0] ?? '', written.flag('overwrite'))
    },
  },
  {
    name: 'print openapi',
    sentence: 'Print the OpenAPI document of the model.',
    options: { model },
    async run(written) {
      const { openapiText } = await import('./cli/print.ts')
      const { model: checked, settings } = await modelOf(written)
      return openapiText(checked, settings)
    },
  },
  {
    name: 'print schema',
    sentence: 'Print the GraphQL schema of the model.',
    options: { model },
    async run(written) {
      const { schemaText } = await import('./graphql/sdl.ts')
      return schemaText((await modelOf(written)).model)
    },
  },
  {
    name: 'print sql',
    sentence: 'Print the SQL that makes the tables of the model, for SQLite or PostgreSQL.',
    options: files,
    async run(written) {
      const { printedSql } = await import('./cli/migrate.ts')
      const { model: checked, settings } = await modelOf(written)
      return printedSql(checked, settings)
    },
  },
  {
    name: 'print config',
    sentence: 'Print the page of all settings.',
    options: {},
    run: async () => (await import('./cli/print.ts')).configurationPage(),
  },
  {
    name: 'print errors',
    sentence: 'Print the page of all errors.',
    options: {},
    run: async () => (await import('./cli/print.ts')).errorsPage(),
  },
  {
    name: 'keys create',
    sentence: 'Make an API key for a user, and print it once.',
    options: {
      user,
      name: { value: 'text', sentence: 'What the key is for.' },
      scopes: { value: 'list', sentence: 'Scopes, separated by commas; else all: *.' },
      expires: { value: 'time', sentence: 'E.g. 30d, 12h or 2027-01-31T00:00:00Z; else never.' },
      ...files,
    },
    run: written =>
      withDatabase(written, (opened, { createKeyFor }) =>
        createKeyFor(opened, {
          user: written.needed('user'),
          name: written.text('name'),
          scopes: written.text('scopes'),
          expires: written.text('expires'),
        }),
      ),
  },
  {
    name: 'keys list',
    sentence: 'List the API keys of a user.',
    options: { user, ...files },
    run: written => withDatabase(written, (opened, { listKeys }) => listKeys(opened, written.needed('user'))),
  },
  {
    name: 'keys revoke',
    arguments: ['key'],
    sentence: 'Revoke an API key, named by its id or its first characters.',
    options: { user, ...files },
    run: written =>
      withDatabase(written, (opened, { revokeKey }) =>
        revokeKey(opened, written.needed('user'), written.arguments[0] ?? ''),
      ),
  },
  {
    name: 'keys generate',
    sentence: 'Print a random key, for PORTICO_ADMIN_API_KEY.',
    options: {},
    run: async () => (await import('./cli/accounts.ts')).newKeyText(),
  },
  {
    name: 'keys rotate',
    sentence: 'Make new signing keys for tokens; what the old ones signed stays valid.',
    options: files,
    run: written =>
      withDatabase(written, async ({ records, settings }) =>
        (await import('./cli/apps.ts')).rotate(await records(), settings),
      ),
  },
  {
    name: 'secrets generate',
    sentence: 'Print a random key, for PORTICO_SECRET_KEY.',
    options: {},
    run: async () => (await import('./cli/secrets.ts')).generateSecret(),
  },
  {
    name: 'secrets rotate',
    sentence: 'Seal all secrets in the database with a new key; the older ones still open.',
    options: files,
    run: written =>
      withDatabase(written, async ({ stored, settings }) =>
        (await import('./cli/secrets.ts')).rotate(stored, settings),
      ),
  },
  {
    name: 'secrets forget',
    sentence: 'Remove the older keys from the key file, once all is sealed with the newest.',
    options: files,
    run: written =>
      withDatabase(written, async ({ stored, settings }) =>
        (await import('./cli/secrets.ts')).forget(stored, settings),
      ),
  },
  {
    name: 'apps create',
    sentence: 'Register an OAuth app, and print its secret once.',
    options: {
      user: { value: 'email', sentence: 'Whose app it is.', required: true },
      name: { value: 'text', sentence: 'What users see.', required: true },
      type: { value: 'type', sentence: 'confidential or public; else confidential.' },
      'redirect-uri': {
        value: 'url',
        sentence: 'Where browsers come back; can be given again.',
        multiple: true,
      },
      scopes: { value: 'list', sentence: 'What it may ask for, separated by commas; else any scope.' },
      ...files,
    },
    run: written =>
      withDatabase(written, async opened =>
        (await import('./cli/apps.ts')).createApp(opened, {
          user: written.needed('user'),
          name: written.needed('name'),
          type: written.text('type'),
          redirectUris: written.list('redirect-uri'),
          scopes: written.text('scopes'),
        }),
      ),
  },
  {
    name: 'apps list',
    sentence: 'List the OAuth apps, of one user with --user.',
    options: { user: { value: 'email', sentence: 'Whose apps; else everybody’s.' }, ...files },
    run: written =>
      withDatabase(written, async opened =>
        (await import('./cli/apps.ts')).listApps(opened, written.text('user')),
      ),
  },
  {
    name: 'apps rotate-secret',
    arguments: ['app'],
    sentence: 'Make a new secret for an app, named by its client id; the old ones end after a while.',
    options: files,
    run: written =>
      withDatabase(written, async opened =>
        (await import('./cli/apps.ts')).rotateSecret(opened, written.arguments[0] ?? '', opened.settings),
      ),
  },
  {
    name: 'apps delete',
    arguments: ['app'],
    sentence: 'Delete an app, named by its client id; its tokens work no more.',
    options: files,
    run: written =>
      withDatabase(written, async opened =>
        (await import('./cli/apps.ts')).deleteApp(opened, written.arguments[0] ?? ''),
      ),
  },
  {
    name: 'documents register',
    arguments: ['file…'],
    sentence: 'Register GraphQL documents: .graphql files, or manifests in JSON.',
    options: { model },
    async run(written) {
      const { registerDocuments } = await import('./cli/documents.ts')
      const { model: checked, settings } = await modelOf(written)
      return registerDocuments(checked, settings, written.arguments)
    },
  },
  {
    name: 'documents list',
    sentence: 'List the registered GraphQL documents.',
    options: {},
    async run(written) {
      const { listDocuments } = await import('./cli/documents.ts')
      return listDocuments(await settingsOf(written))
    },
  },
  {
    name: 'users create',
    sentence: 'Make an account.',
    options: {
      email: { value: 'email', sentence: 'The e-mail address.', required: true },
      name: { value: 'text', sentence: 'The name; else the part before the @.' },
      role: { value: 'role', sentence: 'The role; else the default one.' },
      password: { value: 'text', sentence: 'The password; else one is made and printed once.' },
      set: { value: 'field=value', sentence: 'Another field of users; can be given again.', multiple: true },
      ...files,
    },
    run: written =>
      withDatabase(written, (opened, { createUserAs }) =>
        createUserAs(opened, {
          email: written.needed('email'),
          name: written.text('name'),
          role: written.text('role'),
          password: written.text('password'),
          set: written.list('set'),
        }),
      ),
  },
  {
    name: 'users list',
    sentence: 'List all accounts.',
    options: files,
    run: written => withDatabase(written, (opened, { listUsers }) => listUsers(opened)),
  },
  {
    name: 'users set-role',
    arguments: ['email', 'role'],
    sentence: 'Give a user a role.',
    options: files,
    run: written =>
      withDatabase(written, (opened, { setRole }) =>
        setRole(opened, written.arguments[0] ?? '', written.arguments[1] ?? ''),
      ),
  },
]

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

async function execute(words: readonly string[]): Promise<string> {
  if (words[0] === '--version') return `${version()}\n`
  if (words.length === 0 || words[0] === '--help' || words[0] === 'help') {
    return generalHelp(commands, version())
  }
  const { command, rest } = findCommand(commands, words)
  return rest.includes('--help') ? commandHelp(command) : command.run(readWritten(command, rest))
}

/** Why a database file, or its folder, cannot be opened. */
function databaseFault(error: Error): Failure | undefined {
  const unopened =
    'errstr' in error &&
    (error.errstr === 'file is not a database' || error.errstr === 'unable to open database file')
  const unmade = 'syscall' in error && error.syscall === 'mkdir'
  if (!unopened && !unmade) return undefined
  return new Failure(
    `The database cannot be opened: ${error.message}. \`--database\` or DATABASE_URL names its file.`,
  )
}

/** What a person can mend is one sentence; anything else shows its stack. */
async function explain(error: unknown): Promise<Failure | undefined> {
  if (error instanceof Failure) return error
  const { ApiError } = await import('./errors.ts')
  if (error instanceof ApiError) return (await import('./cli/accounts.ts')).failureOf(error)
  const known = ['SettingsError', 'MigrationError', 'SealError', 'CopyError']
  if (error instanceof Error && known.includes(error.name)) return new Failure(error.message)
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return new Failure(`${error.message}: another program listens there. Set PORT to a free one.`)
  }
  return error instanceof Error ? databaseFault(error) : undefined
}

/** Runs a command. Returns the exit code: 0 done, 1 not done, 2 written wrongly. */
export async function main(words: readonly string[]): Promise<number> {
  try {
    process.stdout.write(await execute(words))
    return 0
  } catch (error) {
    const failure = await explain(error)
    console.error(failure ? failure.message : error)
    return failure?.exitCode ?? 1
  }
}
