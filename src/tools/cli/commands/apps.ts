/** `portico apps`: manages OAuth apps and their secrets. A service may run at the same time. */

import { system } from '../../../base/principal.ts'
import { writeWith } from '../../../engine/plan/run.ts'
import {
  createPlan,
  deleteShape,
  itemShape,
  listShape,
  readAll,
  readFirst,
  readItem,
  where,
} from '../../../engine/plan/system-plans.ts'
import { newAppHook } from '../../../identity/server/clients/app-hooks.ts'
import { AppSecrets } from '../../../identity/server/clients/app-secrets.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { databaseOptions, type OpenedDatabase, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { type TableRow, tableOr } from '../table.ts'
import { requireUser } from '../user.ts'
import type { Command, ParsedArgs } from './commands.ts'

const columns = ['id', 'name', 'type', 'client_id', 'redirect_uris', 'scopes', 'first_party', 'created_at']
const everyApp = listShape('oauth_apps', columns)
const appsOfUser = listShape('oauth_apps', columns, where('user_id'))
const appColumns = ['id', 'name', 'type']
const appById = itemShape('oauth_apps', appColumns)
const appByClientId = listShape('oauth_apps', appColumns, where('client_id'))
const deletion = deleteShape('oauth_apps')
const secretColumns = ['id', 'prefix', 'created_at', 'expires_at']
const secretsOfApp = listShape('oauth_app_secrets', secretColumns, where('app_id'))

async function listApps({ run }: OpenedModel, email: string | undefined): Promise<string> {
  const apps =
    email === undefined
      ? await readAll<TableRow>(run, everyApp)
      : await readAll<TableRow>(run, appsOfUser, (await requireUser(run, email)).id)
  return tableOr('There are no OAuth apps.', columns, apps)
}

function scopesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter(scope => scope !== ''))]
}

function secretsOf({ run, settings }: OpenedDatabase): AppSecrets {
  return new AppSecrets({ run, overlapSeconds: settings.secretOverlap / 1000 })
}

async function createApp(opened: OpenedDatabase, args: ParsedArgs): Promise<string> {
  const { model, run, settings } = opened
  const apps = model.collections.get('oauth_apps')
  if (!apps) throw new Failure('The model has no OAuth apps.')
  const [name, type, scopes] = [args.required('name'), args.text('type'), args.text('scopes')]
  const { values } = bodyValidator(apps).create({
    name,
    redirect_uris: [...args.list('redirect-uri')],
    ...(type === undefined ? undefined : { type }),
    ...(scopes === undefined ? undefined : { scopes: [...scopesIn(scopes)] }),
    ...(args.flag('first-party') && { first_party: true }),
  })
  const prepareApp = newAppHook(settings['theme.name'])
  const { computed, revealed, afterwards } = await prepareApp(values, system)
  const { id: userId } = await requireUser(run, args.required('user'))
  const plan = createPlan('oauth_apps', values, { ...computed, user_id: userId })
  const { id } = await run.write(plan, system, afterwards && writeWith(afterwards))
  const secret = 'client_secret' in revealed ? `client_secret  ${revealed.client_secret} (shown once)\n` : ''
  return `Created app ${id}, ${name}\nclient_id      ${computed.client_id}\n${secret}`
}

interface App {
  readonly id: number
  readonly name: string
  readonly type: string
}

/** `reference`: a client id, or the id that the list shows. */
async function requireApp({ run }: OpenedModel, reference: string): Promise<App> {
  const isId = /^\d{1,15}$/.test(reference)
  const app = await (isId
    ? readItem<App>(run, appById, Number(reference))
    : readFirst<App>(run, appByClientId, reference))
  if (app) return app
  throw new Failure(`There is no app ${reference.slice(0, 60)}. \`portico apps list\` shows all.`)
}

async function requireConfidentialApp(opened: OpenedModel, reference: string): Promise<App> {
  const app = await requireApp(opened, reference)
  if (app.type === 'public') throw new Failure(`${app.name} is a public app: it has no secret.`)
  return app
}

/** Creates a secret; older ones expire after `secretOverlap`. */
async function rotateSecretOf(opened: OpenedDatabase, reference: string): Promise<string> {
  const { id } = await requireConfidentialApp(opened, reference)
  const secret = await secretsOf(opened).rotate(id)
  const overlapSeconds = opened.settings.secretOverlap / 1000
  return `client_secret  ${secret} (shown once)\nOlder secrets remain valid for ${overlapSeconds} s.\n`
}

/** Lists the secrets of an app, including expired ones. */
async function listSecretsOf(opened: OpenedDatabase, reference: string): Promise<string> {
  const { id, name } = await requireConfidentialApp(opened, reference)
  await secretsOf(opened).settle(id)
  const secrets = await readAll<TableRow>(opened.run, secretsOfApp, id)
  return tableOr(`${name} has no secret.`, secretColumns, secrets)
}

/** Revokes a secret at once. `secret`: the id that the list of secrets shows. */
async function endSecretOf(opened: OpenedDatabase, reference: string, secret: string): Promise<string> {
  const { id, name } = await requireConfidentialApp(opened, reference)
  const secrets = secretsOf(opened)
  await secrets.settle(id)
  const rows = await readAll<TableRow>(opened.run, secretsOfApp, id)
  if (!rows.some(row => String(row.id) === secret)) {
    const hint = `\`portico apps secrets ${reference}\` shows all.`
    throw new Failure(`${name} has no secret ${secret.slice(0, 60)}. ${hint}`)
  }
  await secrets.end(Number(secret))
  return `Ended secret ${secret} of ${name}.\n`
}

async function deleteApp(opened: OpenedModel, reference: string): Promise<string> {
  const { id, name } = await requireApp(opened, reference)
  await opened.run.write({ shape: deletion, args: [id] }, system)
  return `Deleted app ${id}, ${name}; its tokens are no longer valid.\n`
}

/** A command for the app that its first argument names. */
function onApp(
  names: readonly string[],
  run: (opened: OpenedDatabase, ...args: string[]) => Promise<string>,
): Command {
  return {
    arguments: names,
    options: databaseOptions,
    run: args => withDatabase(args, opened => run(opened, ...args.arguments)),
  }
}

export const create: Command = {
  options: {
    user: { value: 'email', sentence: 'The owner of the app.', required: true },
    name: { value: 'text', sentence: 'The name that users see.', required: true },
    type: { value: 'type', sentence: 'confidential or public. Default: confidential.' },
    'redirect-uri': {
      value: 'url',
      sentence: 'A redirect URI. Can be repeated.',
      multiple: true,
    },
    'first-party': {
      value: undefined,
      sentence: 'The app belongs to the service: users are not asked for consent.',
    },
    scopes: {
      value: 'list',
      sentence: 'The scopes that it may request, separated by commas. Default: all scopes.',
    },
    ...databaseOptions,
  },
  run: args => withDatabase(args, opened => createApp(opened, args)),
}

export const list: Command = {
  options: { user: { value: 'email', sentence: 'Only the apps of this user.' }, ...databaseOptions },
  run: args => withDatabase(args, opened => listApps(opened, args.text('user'))),
}

export const rotateSecret = onApp(['app'], rotateSecretOf)
export const listSecrets = onApp(['app'], listSecretsOf)
export const endSecret = onApp(['app', 'secret'], endSecretOf)
export const remove = onApp(['app'], deleteApp)
