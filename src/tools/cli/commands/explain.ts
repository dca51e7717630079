/** `portico explain`: why a request of a user is allowed or refused. A service may run at the same time. */
import { existsSync } from 'node:fs'
import type { Explanation } from '../../../api/explain/explanation.ts'
import { explanationText } from '../../../api/explain/text.ts'
import { isPostgres } from '../../../server/config/database.ts'
import { createLog } from '../../../server/observability/log.ts'
import { open } from '../../../server/serve/serve.ts'
import { databaseOptions } from '../database.ts'
import { failureOf } from '../error-message.ts'
import { Failure } from '../failure.ts'
import { projectOf } from '../options.ts'
import { print } from '../output.ts'
import type { Command, ParsedArgs } from './commands.ts'

/** Returns the body of `POST /api/v1/explain` that the arguments describe. */
export function requestOf(args: ParsedArgs): Readonly<Record<string, unknown>> {
  const [line = '', body] = args.arguments
  const [method = '', path, ...rest] = line.trim().split(/\s+/)
  if (path === undefined || rest.length > 0) {
    throw new Failure(
      `Write the request as one argument, e.g. 'PATCH /api/v1/tasks/7', not ${JSON.stringify(line)}.`,
      2,
    )
  }
  const scopes = args.text('scopes')?.split(/[\s,]+/)
  const key = args.text('api-key')
  const app = args.text('app')
  const as = args.text('as') ?? 'anonymous'
  if (key !== undefined && args.text('as') !== undefined) {
    throw new Failure('Use `--as` or `--api-key`, not both: a key belongs to a user.', 2)
  }
  return {
    method,
    path,
    as: as === 'anonymous' ? null : /^\d+$/.test(as) ? Number(as) : as,
    ...(scopes && { scopes: scopes.filter(scope => scope !== '') }),
    ...(key !== undefined && { api_key: Number(key) }),
    ...(app !== undefined && { app: Number(app) }),
    ...(body !== undefined && { body: bodyOf(body) }),
  }
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(`The body is not JSON: ${text.slice(0, 80)}`, 2)
  }
}

export const command: Command = {
  arguments: ['request', 'body?'],
  options: {
    as: { value: 'user', sentence: 'A user id, an e-mail address, or anonymous. Default: anonymous.' },
    scopes: { value: 'list', sentence: 'The scopes of the credential. Default: all.' },
    'api-key': { value: 'id', sentence: 'The id of an API key, instead of --as and --scopes.' },
    app: {
      value: 'id',
      sentence: 'The id of the app through which the user acts; without --as, it acts alone.',
    },
    json: {
      value: undefined,
      sentence:
        'Print JSON. The exit status is 0 if the request is allowed, 1 if it is refused, 2 if that is unknown.',
    },
    ...databaseOptions,
  },
  async run(args) {
    const explanation = await explanationFor(args)
    const text = args.flag('json')
      ? `${JSON.stringify(explanation, null, 2)}\n`
      : explanationText(explanation)
    if (explanation.allowed) return text
    await print(text)
    process.exitCode = 1
    return ''
  },
}

/** Throws failures with the exit status 2, which no explanation has. */
async function explanationFor(args: ParsedArgs): Promise<Explanation> {
  try {
    return await explain(args, requestOf(args))
  } catch (error) {
    const failure = await failureOf(error)
    throw failure ? new Failure(failure.message, 2) : error
  }
}

/** Creates and migrates nothing: a service may be running on the database. */
async function explain(args: ParsedArgs, request: object): Promise<Explanation> {
  const { model, settings } = await projectOf(args)
  const { database } = settings
  if (!isPostgres(database) && !existsSync(database))
    throw new Failure(`There is no database at ${database}.`)
  const silentSettings = { ...settings, logLevel: 'silent' as const, workers: 1, autoMigrate: false }
  const opened = await open(model, silentSettings, createLog(silentSettings), {
    listen: false,
    background: false,
  })
  try {
    return await opened.explain.request(request, undefined)
  } finally {
    await opened.service.close()
  }
}
