/** The command line. Every command is a row of this table; the commands of a group share a file in `tools/cli/commands/`. */
import { readFileSync } from 'node:fs'
import { loadEnvFile } from '../../base/env-file.ts'
import { packageFolder } from '../../base/package-files.ts'
import { type Commands, findCommand, helpFor, parseArguments } from './commands/commands.ts'
import { print } from './output.ts'

const commands: Commands = {
  start: {
    sentence: 'Serve the model until SIGTERM or SIGINT.',
    load: async () => (await import('./commands/start.ts')).command,
  },
  dev: {
    sentence: 'Serve the model during development, and reload it when it changes.',
    load: async () => (await import('./commands/dev.ts')).command,
  },
  check: {
    sentence: 'Check the model, and list all of its faults.',
    load: async () => (await import('./commands/check.ts')).command,
  },
  explain: {
    sentence: 'Explain why a request of a user is allowed or refused, without executing it.',
    load: async () => (await import('./commands/explain.ts')).command,
  },
  'explain-queries': {
    sentence: 'List the slow lists that a service has answered, and the index that each one needs.',
    load: async () => (await import('./commands/explain-queries.ts')).command,
  },
  migrate: {
    sentence: 'Show what the model changes in the database, and apply it with --apply.',
    load: async () => (await import('./commands/migrate.ts')).command,
  },
  copy: {
    sentence: 'Copy a database into an empty one, SQLite or PostgreSQL, with everything in it.',
    load: async () => (await import('./commands/copy.ts')).command,
  },
  backup: {
    sentence: 'Copy the database into a file while it is in use, and check the copy.',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    sentence: 'Replace the database with a backup. No service may be running.',
    load: async () => (await import('./commands/backup.ts')).restoreBackup,
  },
  export: {
    sentence: 'Write the items of a collection as CSV or NDJSON.',
    load: async () => (await import('./commands/export.ts')).command,
  },
  import: {
    sentence: 'Create items of a collection from CSV or NDJSON of any size. Resumes an interrupted import.',
    load: async () => (await import('./commands/import.ts')).command,
  },
  'events restored': {
    sentence: 'Number new events far above all earlier ones, after a database was restored by hand.',
    load: async () => (await import('./commands/events.ts')).restored,
  },
  'reactions list': {
    sentence: 'List reactions and jobs, their runs that wait for a retry, and those that were given up.',
    load: async () => (await import('./commands/reactions.ts')).list,
  },
  'reactions retry': {
    sentence: 'Retry a run that waits or was given up, by its id in the list; all dead letters with --dead.',
    load: async () => (await import('./commands/reactions.ts')).retry,
  },
  'reactions skip': {
    sentence:
      'Drop a run that waits or was given up, or everything stored for a reaction that the model no longer has.',
    load: async () => (await import('./commands/reactions.ts')).skip,
  },
  'print openapi': {
    sentence: 'Print the OpenAPI document of the model.',
    load: async () => (await import('./commands/print.ts')).openapi,
  },
  'print schema': {
    sentence: 'Print the GraphQL schema of the model.',
    load: async () => (await import('./commands/print.ts')).schema,
  },
  'print sql': {
    sentence: 'Print the SQL that creates the tables of the model, for SQLite or PostgreSQL.',
    load: async () => (await import('./commands/print.ts')).sql,
  },
  'print config': {
    sentence: 'Print the reference of all settings.',
    load: async () => (await import('./commands/print.ts')).config,
  },
  'print errors': {
    sentence: 'Print the reference of all errors.',
    load: async () => (await import('./commands/print.ts')).errors,
  },
  'generate client': {
    sentence: 'Write the TypeScript types of a client, from the model or from the address of a service.',
    load: async () => (await import('./commands/generate.ts')).client,
  },
  'keys create': {
    sentence: 'Create an API key for a user, and print it once.',
    load: async () => (await import('./commands/keys.ts')).create,
  },
  'keys list': {
    sentence: 'List the API keys of a user.',
    load: async () => (await import('./commands/keys.ts')).list,
  },
  'keys revoke': {
    sentence: 'Revoke an API key, by its id or its prefix.',
    load: async () => (await import('./commands/keys.ts')).revoke,
  },
  'keys generate': {
    sentence: 'Print a random key, for PORTICO_ADMIN_API_KEY.',
    load: async () => (await import('./commands/keys.ts')).generate,
  },
  'keys rotate': {
    sentence:
      'Create new keys for signing tokens. Tokens that older keys signed stay valid, unless --end-old is given.',
    load: async () => (await import('./commands/keys.ts')).rotate,
  },
  'secrets generate': {
    sentence: 'Print a random key, for PORTICO_SECRET_KEY.',
    load: async () => (await import('./commands/secrets.ts')).generate,
  },
  'secrets rotate': {
    sentence: 'Encrypt all secrets in the database with a new key. Older keys are kept for decryption.',
    load: async () => (await import('./commands/secrets.ts')).rotate,
  },
  'secrets forget': {
    sentence: 'Remove the older keys from the key file, once everything is encrypted with the newest.',
    load: async () => (await import('./commands/secrets.ts')).forget,
  },
  'apps create': {
    sentence: 'Register an OAuth app, and print its secret once.',
    load: async () => (await import('./commands/apps.ts')).create,
  },
  'apps list': {
    sentence: 'List the OAuth apps, of one user with --user.',
    load: async () => (await import('./commands/apps.ts')).list,
  },
  'apps rotate-secret': {
    sentence: 'Create a new secret for an app, by its client id. Older secrets expire later.',
    load: async () => (await import('./commands/apps.ts')).rotateSecret,
  },
  'apps secrets': {
    sentence: 'List the secrets of an app, by its client id, and when each expires.',
    load: async () => (await import('./commands/apps.ts')).listSecrets,
  },
  'apps end-secret': {
    sentence: 'Revoke a secret of an app at once, by the id that `apps secrets` shows.',
    load: async () => (await import('./commands/apps.ts')).endSecret,
  },
  'apps delete': {
    sentence: 'Delete an app, by its client id, and revoke its tokens.',
    load: async () => (await import('./commands/apps.ts')).remove,
  },
  'documents register': {
    sentence: 'Register GraphQL documents: .graphql files, or manifests in JSON.',
    load: async () => (await import('./commands/documents.ts')).register,
  },
  'documents list': {
    sentence: 'List the registered GraphQL documents.',
    load: async () => (await import('./commands/documents.ts')).list,
  },
  delete: {
    sentence:
      'Delete an item with everything that depends on it, in slices: for deletions that the service refuses as too large.',
    load: async () => (await import('./commands/delete.ts')).remove,
  },
  'users create': {
    sentence: 'Create an account.',
    load: async () => (await import('./commands/users.ts')).create,
  },
  'users list': {
    sentence: 'List all accounts.',
    load: async () => (await import('./commands/users.ts')).list,
  },
  'users set-role': {
    sentence: 'Change the role of a user.',
    load: async () => (await import('./commands/users.ts')).setRole,
  },
  'users disable': {
    sentence: 'Disable an account: all of its credentials are refused.',
    load: async () => (await import('./commands/users.ts')).disable,
  },
  'users enable': {
    sentence: 'Enable a disabled account.',
    load: async () => (await import('./commands/users.ts')).enable,
  },
  'users set-password': {
    sentence: 'Set a new password for a user, and revoke their sessions, tokens and keys.',
    load: async () => (await import('./commands/users.ts')).newPassword,
  },
  'users sessions': {
    sentence: 'List or end the sessions of a user.',
    load: async () => (await import('./commands/users.ts')).sessions,
  },
  'users grants': {
    sentence: 'List or revoke the access that a user has granted to apps.',
    load: async () => (await import('./commands/users.ts')).grants,
  },
  'users export': {
    sentence: 'Write the data of a person, by address or id, as one JSON document: what they may read of it.',
    load: async () => (await import('./commands/personal-data.ts')).exportCommand,
  },
  'users delete': {
    sentence: 'Delete an account, by address or id, with everything that belongs to the person.',
    load: async () => (await import('./commands/personal-data.ts')).deleteCommand,
  },
}

function version(): string {
  return JSON.parse(readFileSync(new URL('package.json', packageFolder), 'utf8')).version
}

async function execute(words: readonly string[]): Promise<string> {
  if (words[0] === '--version') return `${version()}\n`
  const help = await helpFor(commands, words, version())
  if (help !== undefined) return help
  const { command, rest } = await findCommand(commands, words)
  return command.run(parseArguments(command, rest))
}

/** Runs a command. Returns the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(words: readonly string[]): Promise<number> {
  try {
    // Before any command is loaded: some modules read the environment when they are loaded.
    loadEnvFile()
    await print(await execute(words))
    // `explain` sets the exit code if the request is refused.
    return Number(process.exitCode ?? 0)
  } catch (error) {
    const { failureOf } = await import('./error-message.ts')
    const failure = await failureOf(error)
    console.error(failure ? failure.message : error)
    return failure?.exitCode ?? 1
  }
}
