/** `portico keys`: manages the API keys of users, and the keys that sign tokens. */

import { system } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import { deleteShape, listShape, readAll, where } from '../../../engine/plan/system-plans.ts'
import { createKey } from '../../../identity/bootstrap.ts'
import { generateKey } from '../../../identity/keys/key.ts'
import { lastUsesOf } from '../../../identity/last-use.ts'
import { rotateKeys } from '../../../identity/server/tokens/signing-keys.ts'
import { isDate } from '../../../model/fields/date.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../../server/config/config.ts'
import { databaseOptions, type OpenedDatabase, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { type TableRow, tableOr } from '../table.ts'
import { requireUser } from '../user.ts'
import type { Command, Option } from './commands.ts'

const columns = ['id', 'name', 'prefix', 'scopes', 'expires_at', 'created_at']
const shownColumns = [...columns, 'last_used_at']
const keysOfUser = listShape('api_keys', columns, where('user_id'))
const deletion = deleteShape('api_keys')

/** NaN unless the text is a time in ISO 8601. `Date.parse` alone reads February 31 as March 3. */
function timeIn(text: string): number {
  return isDate(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
}

/** Parses `30d`, `12h`, or a time in ISO 8601. */
export function expiry(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? []
  const time =
    count === undefined ? timeIn(text) : now + Number(count) * (unit === 'd' ? 86_400_000 : 3_600_000)
  if (Number.isNaN(time))
    throw new Failure(`\`--expires ${text}\` is not a time: write e.g. 30d, 12h or 2027-01-31T00:00:00Z.`, 2)
  if (time <= now) throw new Failure(`\`--expires ${text}\` is in the past.`, 2)
  return new Date(time).toISOString()
}

function scopeList(model: Model, text: string): readonly string[] {
  const scopes = [...new Set(text.split(/[\s,]+/).filter(scope => scope !== ''))]
  const unknown = scopes.filter(scope => scope !== '*' && !model.scopes.has(scope))
  if (unknown.length === 0 && scopes.length > 0) return scopes
  const fault = unknown.length === 0 ? '`--scopes` is empty' : `There is no scope ${unknown.join(', ')}`
  throw new Failure(`${fault}. The scopes are *, ${[...model.scopes.keys()].join(', ')}.`, 2)
}

interface KeyOptions {
  readonly user: string
  readonly name: string | undefined
  readonly scopes: string | undefined
  readonly expires: string | undefined
}

/** Creates a key. Returns the key as text. */
export async function createKeyFor({ model, run }: OpenedModel, options: KeyOptions): Promise<string> {
  const scopes = scopeList(model, options.scopes ?? '*')
  const expires = options.expires === undefined ? null : expiry(options.expires, Date.now())
  const { id } = await requireUser(run, options.user)
  const key = await createKey(run, id, {
    name: options.name ?? 'Made by an operator',
    scopes,
    expires_at: expires,
  })
  return `${key}\n`
}

/** Lists the keys of a user. `last_used_at` is exact to the hour. */
async function listKeys({ run, stored }: OpenedDatabase, email: string): Promise<string> {
  const { id: userId } = await requireUser(run, email)
  const keys = await readAll<TableRow>(run, keysOfUser, userId)
  const uses = await lastUsesOf(stored, 'KeyUse', userId)
  const rows = keys.map(key => {
    const lastUse = uses.get(String(key.id))
    return { ...key, last_used_at: lastUse === undefined ? null : new Date(lastUse.at).toISOString() }
  })
  return tableOr('This user has no API keys.', shownColumns, rows)
}

/** `key`: an id, the prefix that the list shows, or the whole key. */
async function revokeKey({ run }: OpenedModel, email: string, key: string): Promise<string> {
  const { id: userId } = await requireUser(run, email)
  const owned = await readAll<TableRow>(run, keysOfUser, userId)
  const [match, another] = owned.filter(
    ({ id, prefix }) => String(id) === key || (key.startsWith('pk_') && key.startsWith(String(prefix))),
  )
  if (match === undefined)
    throw new Failure(`The user has no key ${key.slice(0, 10)}. \`portico keys list\` shows all.`)
  if (another !== undefined) throw new Failure('Several keys begin with this: name one by its id.')
  await run.write({ shape: deletion, args: [Number(match.id)] }, system)
  return `Revoked key ${match.id}, ${match.prefix}…\n`
}

/** Creates new signing keys. Unless `endsOld`, tokens that the older keys signed stay valid. */
async function rotateSigningKeys(records: Records, settings: Settings, endsOld: boolean): Promise<string> {
  const { accessToken, idToken } = settings['oauth.lifetimes']
  const maxTokenSeconds = Math.max(accessToken, idToken) / 1000
  const newKeys = await rotateKeys(records, maxTokenSeconds, Date.now(), endsOld)
  const older = endsOld
    ? 'The older keys were removed: JWTs that they signed are no longer accepted.'
    : 'The older keys stay published until the tokens that they signed have expired.'
  return `New signing keys: ${newKeys.join(', ')}. ${older}\n`
}

const user: Option = { value: 'email', sentence: 'The owner of the keys.', required: true }

export const create: Command = {
  options: {
    user,
    name: { value: 'text', sentence: 'The name of the key.' },
    scopes: { value: 'list', sentence: 'Scopes, separated by commas. Default: *, all scopes.' },
    expires: {
      value: 'time',
      sentence: 'When it expires, e.g. 30d, 12h or 2027-01-31T00:00:00Z. Default: never.',
    },
    ...databaseOptions,
  },
  run: args =>
    withDatabase(args, opened =>
      createKeyFor(opened, {
        user: args.required('user'),
        name: args.text('name'),
        scopes: args.text('scopes'),
        expires: args.text('expires'),
      }),
    ),
}

export const list: Command = {
  options: { user, ...databaseOptions },
  run: args => withDatabase(args, opened => listKeys(opened, args.required('user'))),
}

export const revoke: Command = {
  arguments: ['key'],
  options: { user, ...databaseOptions },
  run: args =>
    withDatabase(args, opened => revokeKey(opened, args.required('user'), args.arguments[0] ?? '')),
}

export const generate: Command = {
  options: {},
  run: async () => `${generateKey()}\n`,
}

export const rotate: Command = {
  options: {
    'end-old': {
      value: undefined,
      sentence: 'Remove the older keys at once, which invalidates every JWT that they signed.',
    },
    ...databaseOptions,
  },
  run: args =>
    withDatabase(args, async ({ records, settings }) =>
      rotateSigningKeys(await records(), settings, args.flag('end-old')),
    ),
}
