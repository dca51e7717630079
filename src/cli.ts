/** The command line: every command is a row of this table and a file below `cli/`. */
import { readFileSync } from 'node:fs'
import { type Commands, commandHelp, findCommand, generalHelp, readWritten } from './cli/commands.ts'
import { print } from './cli/print.ts'

const commands: Commands = {
  start: {
    sentence: 'Serve the model until SIGTERM or SIGINT.',
    load: () => import('./cli/start.ts'),
  },
  check: {
    sentence: 'Check the model, and list every fault of it.',
    load: () => import('./cli/check.ts'),
  },
  'explain-queries': {
    sentence: 'List the slow lists that a service has answered, and the index that each lacks.',
    load: () => import('./cli/explain-queries.ts'),
  },
  migrate: {
    sentence: 'Show what the model changes in the database, and do it with --apply.',
    load: () => import('./cli/migrate.ts'),
  },
  copy: {
    sentence: 'Copy a database into an empty one, SQLite or PostgreSQL, with everything in it.',
    load: () => import('./cli/copy.ts'),
  },
  backup: {
    sentence: 'Copy the database into a file while it is in use, and check the copy.',
    load: () => import('./cli/backup.ts'),
  },
  restore: {
    sentence: 'Put a backup in the place of the database, while no service runs.',
    load: () => import('./cli/restore.ts'),
  },
  'print openapi': {
    sentence: 'Print the OpenAPI document of the model.',
    load: () => import('./cli/print/openapi.ts'),
  },
  'print schema': {
    sentence: 'Print the GraphQL schema of the model.',
    load: () => import('./cli/print/schema.ts'),
  },
  'print sql': {
    sentence: 'Print the SQL that makes the tables of the model, for SQLite or PostgreSQL.',
    load: () => import('./cli/print/sql.ts'),
  },
  'print config': {
    sentence: 'Print the page of all settings.',
    load: () => import('./cli/print/config.ts'),
  },
  'print errors': {
    sentence: 'Print the page of all errors.',
    load: () => import('./cli/print/errors.ts'),
  },
  'keys create': {
    sentence: 'Make an API key for a user, and print it once.',
    load: () => import('./cli/keys/create.ts'),
  },
  'keys list': {
    sentence: 'List the API keys of a user.',
    load: () => import('./cli/keys/list.ts'),
  },
  'keys revoke': {
    sentence: 'Revoke an API key, named by its id or its first characters.',
    load: () => import('./cli/keys/revoke.ts'),
  },
  'keys generate': {
    sentence: 'Print a random key, for PORTICO_ADMIN_API_KEY.',
    load: () => import('./cli/keys/generate.ts'),
  },
  'keys rotate': {
    sentence:
      'Make new signing keys for tokens; what the old ones signed stays valid, unless --end-old is given.',
    load: () => import('./cli/keys/rotate.ts'),
  },
  'secrets generate': {
    sentence: 'Print a random key, for PORTICO_SECRET_KEY.',
    load: () => import('./cli/secrets/generate.ts'),
  },
  'secrets rotate': {
    sentence: 'Seal all secrets in the database with a new key; the older ones still open.',
    load: () => import('./cli/secrets/rotate.ts'),
  },
  'secrets forget': {
    sentence: 'Remove the older keys from the key file, once all is sealed with the newest.',
    load: () => import('./cli/secrets/forget.ts'),
  },
  'apps create': {
    sentence: 'Register an OAuth app, and print its secret once.',
    load: () => import('./cli/apps/create.ts'),
  },
  'apps list': {
    sentence: 'List the OAuth apps, of one user with --user.',
    load: () => import('./cli/apps/list.ts'),
  },
  'apps rotate-secret': {
    sentence: 'Make a new secret for an app, named by its client id; the old ones end after a while.',
    load: () => import('./cli/apps/rotate-secret.ts'),
  },
  'apps secrets': {
    sentence: 'List the secrets of an app, named by its client id, and when each ends.',
    load: () => import('./cli/apps/secrets.ts'),
  },
  'apps end-secret': {
    sentence: 'End a secret of an app at once, by the id that `apps secrets` shows.',
    load: () => import('./cli/apps/end-secret.ts'),
  },
  'apps delete': {
    sentence: 'Delete an app, named by its client id; its tokens work no more.',
    load: () => import('./cli/apps/delete.ts'),
  },
  'documents register': {
    sentence: 'Register GraphQL documents: .graphql files, or manifests in JSON.',
    load: () => import('./cli/documents/register.ts'),
  },
  'documents list': {
    sentence: 'List the registered GraphQL documents.',
    load: () => import('./cli/documents/list.ts'),
  },
  'users create': {
    sentence: 'Make an account.',
    load: () => import('./cli/users/create.ts'),
  },
  'users list': {
    sentence: 'List all accounts.',
    load: () => import('./cli/users/list.ts'),
  },
  'users set-role': {
    sentence: 'Give a user a role.',
    load: () => import('./cli/users/set-role.ts'),
  },
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

async function execute(words: readonly string[]): Promise<string> {
  if (words[0] === '--version') return `${version()}\n`
  if (words.length === 0 || words[0] === '--help' || words[0] === 'help') {
    return generalHelp(commands, version())
  }
  const { command, rest } = await findCommand(commands, words)
  return rest.includes('--help') ? commandHelp(command) : command.run(readWritten(command, rest))
}

/** Runs a command. Returns the exit code: 0 done, 1 not done, 2 written wrongly. */
export async function main(words: readonly string[]): Promise<number> {
  try {
    await print(await execute(words))
    return 0
  } catch (error) {
    const { explain } = await import('./cli/explain.ts')
    const failure = explain(error)
    console.error(failure ? failure.message : error)
    return failure?.exitCode ?? 1
  }
}
