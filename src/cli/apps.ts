/** `portico apps` and `portico keys rotate`: what an operator does to OAuth, beside a running service. */
import { createBySystem } from '../auth/bootstrap.ts'
import { newAppHook } from '../auth/server/app-hooks.ts'
import { AppSecrets } from '../auth/server/app-secrets.ts'
import { rotateKeys } from '../auth/server/keys.ts'
import type { Settings } from '../config.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { bodyValidator } from '../model/validate.ts'
import { system } from '../principal.ts'
import type { Records } from '../records.ts'
import { type Opened, rows, table, userId } from './accounts.ts'
import { Failure } from './failure.ts'
import type { OpenedDatabase } from './opened.ts'

const columns = ['id', 'name', 'type', 'client_id', 'redirect_uris', 'scopes', 'created_at']

export async function listApps({ run }: Opened, email: string | undefined): Promise<string> {
  const found =
    email === undefined
      ? await rows(run, 'oauth_apps', columns)
      : await rows(run, 'oauth_apps', columns, 'user_id', await userId(run, email))
  return found.length === 0 ? 'There are no OAuth apps.\n' : `${table(columns, found)}\n`
}

export interface AppOptions {
  readonly user: string
  readonly name: string
  readonly type: string | undefined
  readonly redirectUris: readonly string[]
  readonly scopes: string | undefined
}

function listed(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter(one => one !== ''))]
}

function secretsOf({ run, stored: records, settings }: OpenedDatabase): AppSecrets {
  return new AppSecrets({ run, records, overlapSeconds: settings['oauth.secretOverlap'] })
}

export async function createApp(opened: OpenedDatabase, options: AppOptions): Promise<string> {
  const { model, run } = opened
  const apps = model.collections.get('oauth_apps')
  if (!apps) throw new Failure('The model has no OAuth apps.')
  const { values } = bodyValidator(apps).create({
    name: options.name,
    redirect_uris: [...options.redirectUris],
    ...(options.type === undefined ? undefined : { type: options.type }),
    ...(options.scopes === undefined ? undefined : { scopes: [...listed(options.scopes)] }),
  })
  const { computed, revealed, afterwards } = await newAppHook(
    secretsOf(opened),
    opened.settings['theme.name'],
  )(values, system)
  const owner = await userId(run, options.user)
  const id = await createBySystem(run, 'oauth_apps', values, { ...computed, user_id: owner })
  await afterwards?.(id)
  const secret = 'client_secret' in revealed ? `client_secret  ${revealed.client_secret} (shown once)\n` : ''
  return `Created app ${id}, ${options.name}\nclient_id      ${computed.client_id}\n${secret}`
}

/** By client id, or by the id that a list shows. */
async function appNamed({ run }: Opened, named: string): Promise<Readonly<Record<string, JsonValue>>> {
  const field = /^\d{1,15}$/.test(named) ? 'id' : 'client_id'
  const value = field === 'id' ? Number(named) : named
  const [app] = await rows(run, 'oauth_apps', ['id', 'name', 'type'], field, value)
  if (app) return app
  throw new Failure(`There is no app ${named.slice(0, 60)}. \`portico apps list\` shows all.`)
}

async function confidentialApp(opened: Opened, named: string) {
  const app = await appNamed(opened, named)
  if (app.type === 'public') throw new Failure(`${app.name} is a public app: it has no secret.`)
  return { id: Number(app.id), name: String(app.name) }
}

/** Makes a new secret; those before it end after the setting `oauth.secretOverlap`. */
export async function rotateSecret(opened: OpenedDatabase, named: string): Promise<string> {
  const { id } = await confidentialApp(opened, named)
  const secret = await secretsOf(opened).rotate(id)
  const overlap = opened.settings['oauth.secretOverlap']
  return `client_secret  ${secret} (shown once)\nThe secrets before it work for ${overlap} s more.\n`
}

const secretColumns = ['id', 'prefix', 'created_at', 'expires_at']

/** The secrets of an app, those that have ended too. */
export async function listSecrets(opened: OpenedDatabase, named: string): Promise<string> {
  const { id, name } = await confidentialApp(opened, named)
  await secretsOf(opened).settle(id)
  const found = await rows(opened.run, 'oauth_app_secrets', secretColumns, 'app_id', id)
  return found.length === 0 ? `${name} has no secret.\n` : `${table(secretColumns, found)}\n`
}

/** Ends a secret at once, by the id that the list of secrets shows. */
export async function endSecret(opened: OpenedDatabase, named: string, secret: string): Promise<string> {
  const { id, name } = await confidentialApp(opened, named)
  const secrets = secretsOf(opened)
  await secrets.settle(id)
  const found = await rows(opened.run, 'oauth_app_secrets', ['id'], 'app_id', id)
  if (!found.some(row => String(row.id) === secret)) {
    const hint = `\`portico apps secrets ${named}\` shows all.`
    throw new Failure(`${name} has no secret ${secret.slice(0, 60)}. ${hint}`)
  }
  await secrets.end(Number(secret))
  return `Ended secret ${secret} of ${name}.\n`
}

export async function deleteApp(opened: Opened, named: string): Promise<string> {
  const app = await appNamed(opened, named)
  const shape = { kind: 'delete', collection: 'oauth_apps', id: 0, ifMatch: undefined } as const
  await opened.run.write({ shape, args: [Number(app.id)] }, system)
  return `Deleted app ${app.id}, ${app.name}; its tokens work no more.\n`
}

/** New keys sign from now on; what the old ones signed stays valid, unless they are to end at once. */
export async function rotate(records: Records, settings: Settings, atOnce: boolean): Promise<string> {
  const longest = Math.max(settings['oauth.accessTokenLife'], settings['oauth.idTokenLife'])
  const made = await rotateKeys(records, longest, Date.now(), atOnce)
  const older = atOnce
    ? 'The older ones have ended: no JWT that they signed is taken.'
    : 'Older ones stay published until what they signed has expired.'
  return `New signing keys: ${made.join(', ')}. ${older}\n`
}
