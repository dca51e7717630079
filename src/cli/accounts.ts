/** `portico keys` and `portico users`: what an operator does to accounts, beside a running service. */
import { createKey, createUser, generatePassword } from '../auth/bootstrap.ts'
import { generateKey } from '../auth/key.ts'
import { isPasswordTooLong, maxPasswordCharacters } from '../auth/password.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Model } from '../model/model.ts'
import { bodyValidator } from '../model/validate.ts'
import type { Filter, ListShape, Selected } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { system } from '../principal.ts'
import { Failure } from './failure.ts'

/** An opened database and its model. */
export interface Opened {
  readonly model: Model
  readonly run: Run
}

type Row = Readonly<Record<string, JsonValue>>
type Values = Readonly<Record<string, JsonValue>>

/** Read at once. */
const PAGE = 10_000

function listShape(collection: string, fields: readonly string[], by: string | undefined): ListShape {
  const select: readonly Selected[] = fields.map(field => ({ kind: 'field', key: field, field }))
  const filter: Filter | undefined = by ? { kind: 'compare', field: by, operator: 'eq', param: 2 } : undefined
  return {
    kind: 'list',
    collection,
    within: undefined,
    filter,
    search: undefined,
    sort: [],
    window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    select,
  }
}

/** All rows, or all whose field `by` has the value. */
export async function rows(
  run: Run,
  collection: string,
  fields: readonly string[],
  by?: string,
  value?: JsonValue,
) {
  const shape = listShape(collection, fields, by)
  const found: Row[] = []
  for (;;) {
    const args: JsonValue[] = [found.length, PAGE]
    if (value !== undefined) args.push(value)
    const { text } = await run.list({ shape, args }, system)
    const page = JSON.parse(text ?? '[]') as Row[]
    found.push(...page)
    if (page.length < PAGE) return found
  }
}

/** What would move the cursor of a terminal, or turn the direction of its text, is shown as its code. */
function visible(text: string): string {
  const code = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, code)
}

function cellOf(value: JsonValue | undefined): string {
  return visible(Array.isArray(value) ? value.join(' ') : String(value ?? '–'))
}

/** Rows as aligned columns, the names above. */
export function table(names: readonly string[], shownRows: readonly Row[]): string {
  const cells = [[...names], ...shownRows.map(row => names.map(name => cellOf(row[name])))]
  const widths = names.map((_, at) => Math.max(...cells.map(line => line[at]?.length ?? 0)))
  return cells
    .map(line =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export async function userId(run: Run, email: string): Promise<number> {
  const [found] = await rows(run, 'users', ['id'], 'email', email.toLowerCase())
  if (found) return Number(found.id)
  throw new Failure(`No user has the e-mail address ${email}. \`portico users list\` shows all.`)
}

/** `30d`, `12h`, or a time as ISO 8601. */
export function expiry(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? []
  const written = () => (/^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN)
  const time = count === undefined ? written() : now + Number(count) * (unit === 'd' ? 86_400_000 : 3_600_000)
  if (Number.isNaN(time))
    throw new Failure(`\`--expires ${text}\` is no time: write e.g. 30d, 12h or 2027-01-31T00:00:00Z.`, 2)
  if (time <= now) throw new Failure(`\`--expires ${text}\` has passed already.`, 2)
  return new Date(time).toISOString()
}

function scopeList(model: Model, text: string): readonly string[] {
  const scopes = [...new Set(text.split(/[\s,]+/).filter(scope => scope !== ''))]
  const wrong = scopes.filter(scope => scope !== '*' && !model.scopes.has(scope))
  if (wrong.length === 0 && scopes.length > 0) return scopes
  const fault = wrong.length === 0 ? '`--scopes` names none' : `There is no scope ${wrong.join(', ')}`
  throw new Failure(`${fault}. The scopes are *, ${[...model.scopes.keys()].join(', ')}.`, 2)
}

export interface KeyOptions {
  readonly user: string
  readonly name: string | undefined
  readonly scopes: string | undefined
  readonly expires: string | undefined
}

/** Makes a key and returns the text that shows it. */
export async function createKeyFor({ model, run }: Opened, options: KeyOptions): Promise<string> {
  const scopes = scopeList(model, options.scopes ?? '*')
  const expires = options.expires === undefined ? null : expiry(options.expires, Date.now())
  const id = await userId(run, options.user)
  const key = await createKey(run, id, {
    name: options.name ?? 'Made by an operator',
    scopes,
    expires_at: expires,
  })
  return `${key}\n`
}

const keyFields = ['id', 'name', 'prefix', 'scopes', 'expires_at', 'created_at']

export async function listKeys({ run }: Opened, email: string): Promise<string> {
  const found = await rows(run, 'api_keys', keyFields, 'user_id', await userId(run, email))
  return found.length === 0 ? 'This user has no API keys.\n' : `${table(keyFields, found)}\n`
}

/** `key`: an id, the first characters of a key as a list shows them, or the whole key. */
export async function revokeKey({ run }: Opened, email: string, key: string): Promise<string> {
  const owned = await rows(run, 'api_keys', ['id', 'prefix', 'name'], 'user_id', await userId(run, email))
  const meant = owned.filter(
    row => String(row.id) === key || (key.startsWith('pk_') && key.startsWith(String(row.prefix))),
  )
  const [one, another] = meant
  if (one === undefined)
    throw new Failure(`The user has no key ${key.slice(0, 10)}. \`portico keys list\` shows all.`)
  if (another !== undefined) throw new Failure('Two keys begin like that: name one by its id.')
  await run.write(
    {
      shape: { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined },
      args: [Number(one.id)],
    },
    system,
  )
  return `Revoked key ${one.id}, ${one.prefix}…\n`
}

export function newKeyText(): string {
  return `${generateKey()}\n`
}

const userColumns = ['id', 'name', 'email', 'role', 'created_at']

export async function listUsers({ run }: Opened): Promise<string> {
  const found = await rows(run, 'users', userColumns)
  return found.length === 0 ? 'There are no users.\n' : `${table(userColumns, found)}\n`
}

/** The body of a user, from what was given as `name=value`. */
function userBody(model: Model, options: UserOptions): Values {
  const users = model.collections.get('users')
  if (!users) throw new Failure('The model has no users.')
  const body: Record<string, JsonValue> = {
    email: options.email,
    name: options.name ?? options.email.split('@')[0] ?? '',
  }
  if (options.role !== undefined) body.role = options.role
  for (const pair of options.set) {
    const [name = '', ...rest] = pair.split('=')
    const value = users.fields.get(name)?.type.fromText(rest.join('='))
    if (value === undefined)
      throw new Failure(`\`--set ${pair}\` is no field of users with a value that fits it.`, 2)
    body[name] = value
  }
  return bodyValidator(users).create(body).values
}

export interface UserOptions {
  readonly email: string
  readonly name: string | undefined
  readonly role: string | undefined
  readonly password: string | undefined
  /** More fields, each as `name=value`. */
  readonly set: readonly string[]
}

export async function createUserAs({ model, run }: Opened, options: UserOptions): Promise<string> {
  const password = options.password ?? generatePassword()
  if (isPasswordTooLong(password)) {
    throw new Failure(`\`--password\` may have at most ${maxPasswordCharacters} characters.`, 2)
  }
  const id = await createUser(run, userBody(model, options), password)
  const shown = options.password === undefined ? `, with the password ${password} (shown once)` : ''
  return `Created user ${id}, ${options.email}${shown}\n`
}

export async function setRole({ model, run }: Opened, email: string, role: string): Promise<string> {
  const users = model.collections.get('users')
  if (!users) throw new Failure('The model has no users.')
  const { values } = bodyValidator(users).merge({ role })
  const args = [await userId(run, email), values.role ?? role]
  await run.write(
    {
      shape: {
        kind: 'update',
        mode: 'merge',
        collection: 'users',
        id: 0,
        set: [{ field: 'role', param: 1 }],
        ifMatch: undefined,
        select: [{ kind: 'field', key: 'id', field: 'id' }],
      },
      args,
    },
    system,
  )
  return `${email} now has the role ${role}\n`
}
