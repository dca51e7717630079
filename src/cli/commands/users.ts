/** `portico users`: accounts, beside a service that may be running. */
import {
  type AdministrationParts,
  disableUser,
  enableUser,
  endSession,
  endSessions,
  grantsOf,
  revokeGrant,
  revokeGrants,
  sessionsOf,
  setPassword,
} from '../../auth/accounts/administration.ts'
import { passwordFault } from '../../auth/accounts/sign-in/password-rules.ts'
import { createUser, generatePassword } from '../../auth/bootstrap.ts'
import { isPasswordTooLong, maxPasswordCharacters } from '../../auth/password.ts'
import { withDenials } from '../../auth/server/tokens/deny-list.ts'
import { withWebhookEnds } from '../../auth/webhooks/grants.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import { bodyValidator } from '../../model/validate.ts'
import type { Run } from '../../plan/run.ts'
import { listShape, readAll, readFirst, updateShape, where } from '../../plan/system-plans.ts'
import { system } from '../../principal.ts'
import type { Command, ParsedArgs } from '../commands.ts'
import { files, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { openNotices } from '../notices.ts'
import { type Listed, tableOr } from '../table.ts'

const columns = ['id', 'name', 'email', 'role', 'disabled', 'created_at']
const idByEmail = listShape('users', ['id'], where('email'))
const newRole = updateShape('users', ['role'])

/** Throws a `Failure` when nobody has the address. */
export async function userIdOf(run: Run, email: string): Promise<number> {
  const found = await readFirst<{ readonly id: number }>(run, idByEmail, email.toLowerCase())
  if (found) return found.id
  throw new Failure(`No user has the e-mail address ${email}. \`portico users list\` shows all.`)
}

function usersOf(model: Model): Collection {
  const users = model.collections.get('users')
  if (!users) throw new Failure('The model has no users.')
  return users
}

/** The body of a new user; `--set` gives further fields, each as `name=value`. */
function userBody(model: Model, args: ParsedArgs): Readonly<Record<string, JsonValue>> {
  const users = usersOf(model)
  const email = args.needed('email')
  const role = args.text('role')
  const body: Record<string, JsonValue> = {
    email,
    name: args.text('name') ?? email.split('@')[0] ?? '',
    ...(role === undefined ? {} : { role }),
  }
  for (const pair of args.list('set')) {
    const [name = '', ...rest] = pair.split('=')
    const value = users.fields.get(name)?.type.fromText(rest.join('='))
    if (value === undefined)
      throw new Failure(`\`--set ${pair}\` is no field of users with a value that fits it.`, 2)
    body[name] = value
  }
  return bodyValidator(users).create(body).values
}

async function createUserAs({ model, run }: OpenedModel, args: ParsedArgs): Promise<string> {
  const given = args.text('password')
  const password = given ?? generatePassword()
  if (isPasswordTooLong(password)) {
    throw new Failure(`\`--password\` may have at most ${maxPasswordCharacters} characters.`, 2)
  }
  const id = await createUser(run, userBody(model, args), password)
  const shown = given === undefined ? `, with the password ${password} (shown once)` : ''
  return `Created user ${id}, ${args.needed('email')}${shown}\n`
}

async function listUsers({ run }: OpenedModel): Promise<string> {
  return tableOr('There are no users.', columns, await readAll<Listed>(run, listShape('users', columns)))
}

async function giveRole({ model, run }: OpenedModel, email: string, role: string): Promise<string> {
  const { values } = bodyValidator(usersOf(model)).merge({ role })
  const args = [await userIdOf(run, email), values.role ?? role]
  await run.write({ shape: newRole, args }, system)
  return `${email} now has the role ${role}\n`
}

export const create: Command = {
  options: {
    email: { value: 'email', sentence: 'The e-mail address.', required: true },
    name: { value: 'text', sentence: 'The name; else the part before the @.' },
    role: { value: 'role', sentence: 'The role; else the default one.' },
    password: {
      value: 'text',
      sentence: 'The password, of at most 256 characters; else one is made and printed once.',
    },
    set: { value: 'field=value', sentence: 'Another field of users; can be given again.', multiple: true },
    ...files,
  },
  run: args => withDatabase(args, opened => createUserAs(opened, args)),
}

export const list: Command = {
  options: files,
  run: args => withDatabase(args, listUsers),
}

export const setRole: Command = {
  arguments: ['email', 'role'],
  options: files,
  run: args =>
    withDatabase(args, opened => giveRole(opened, args.arguments[0] ?? '', args.arguments[1] ?? '')),
}

interface Administered {
  readonly parts: AdministrationParts
  readonly email: string
  readonly id: number
  /** Whether a mail has told the person. */
  readonly told: () => Promise<string>
}

type UserCommand = (administered: Administered) => Promise<string>

/** For commands whose first argument is the user's address. */
function administer(args: ParsedArgs, act: UserCommand): Promise<string> {
  const email = args.arguments[0] ?? ''
  return withDatabase(args, async ({ run, records, settings }) => {
    const denying = withDenials(await records(), settings['oauth.accessTokenLife'])
    const notices = await openNotices(settings, denying)
    const parts = {
      run,
      records: withWebhookEnds(denying, run),
      sessionLife: settings['oauth.sessionLife'],
      notices: notices.parts,
    }
    return act({ parts, email, id: await userIdOf(run, email), told: notices.said })
  })
}

export const disable: Command = {
  arguments: ['email'],
  options: files,
  run: args =>
    administer(args, async ({ parts, email, id, told }) => {
      const isNew = await disableUser(parts, id)
      if (!isNew) return `${email} is disabled already\n`
      return `${email} is disabled: no credential of this user is accepted any more\n${await told()}`
    }),
}

export const enable: Command = {
  arguments: ['email'],
  options: files,
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      await enableUser(parts, id)
      return `${email} is enabled; their paused webhooks have to be enabled too\n`
    }),
}

async function givePassword(
  { parts, email, id, told }: Administered,
  given: string | undefined,
  isOnlyWay: boolean,
): Promise<string> {
  const password = given ?? generatePassword()
  const fault = passwordFault(password, email)
  if (fault !== undefined) throw new Failure(`\`--password\`: ${fault}`, 2)
  await setPassword(parts, { id, email: email.toLowerCase() }, password, isOnlyWay)
  const shown = given === undefined ? `: ${password} (shown once)` : ''
  const others = isOnlyWay ? ', passkeys, sign-ins with providers and one-time codes' : ''
  return `${email} has a new password${shown}\nTheir sessions, tokens, connected apps and API keys${others} have ended.\n${await told()}`
}

export const newPassword: Command = {
  arguments: ['email'],
  options: {
    password: { value: 'text', sentence: 'The password; else one is made and printed once.' },
    'only-way': {
      value: undefined,
      sentence: 'Passkeys, sign-ins with providers and one-time codes end too.',
    },
    ...files,
  },
  run: args =>
    administer(args, administered =>
      givePassword(administered, args.text('password'), args.flag('only-way')),
    ),
}

const sessionColumns = ['id', 'signed_in_at', 'expires_at', 'address', 'browser']

async function listSessions(parts: AdministrationParts, email: string, id: number): Promise<string> {
  const rows = (await sessionsOf(parts, id)).map(one => ({
    id: one.id,
    signed_in_at: new Date(one.signedInAt).toISOString(),
    expires_at: new Date(one.expiresAt).toISOString(),
    address: one.address,
    browser: one.userAgent,
  }))
  return tableOr(`${email} is signed in nowhere.`, sessionColumns, rows)
}

export const sessions: Command = {
  arguments: ['email'],
  options: {
    end: { value: 'id', sentence: 'End this session, by its id in the list.' },
    'end-all': { value: undefined, sentence: 'End all of them, and every sign-in under way.' },
    ...files,
  },
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      if (args.flag('end-all')) return `Ended ${await endSessions(parts, id)} sessions of ${email}\n`
      const one = args.text('end')
      if (one === undefined) return listSessions(parts, email, id)
      if (await endSession(parts, id, one)) return `Ended the session ${one}\n`
      throw new Failure(`${email} has no session ${one}. \`portico users sessions ${email}\` shows all.`)
    }),
}

async function listGrants(parts: AdministrationParts, email: string, id: number): Promise<string> {
  const rows = (await grantsOf(parts, id)).map(({ clientId, scopes, at }) => ({
    client_id: clientId,
    scopes: scopes.join(' '),
    allowed_at: new Date(at).toISOString(),
  }))
  return tableOr(`${email} has allowed no app anything.`, ['client_id', 'scopes', 'allowed_at'], rows)
}

export const grants: Command = {
  arguments: ['email'],
  options: {
    revoke: { value: 'client_id', sentence: 'End everything that this app was allowed.' },
    'revoke-all': { value: undefined, sentence: 'End everything that any app was allowed.' },
    ...files,
  },
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      if (args.flag('revoke-all')) {
        await revokeGrants(parts, id)
        return `Revoked what ${email} had allowed apps\n`
      }
      const app = args.text('revoke')
      if (app === undefined) return listGrants(parts, email, id)
      if (await revokeGrant(parts, id, app)) return `Revoked what ${email} had allowed ${app}\n`
      throw new Failure(`${email} has allowed ${app} nothing. \`portico users grants ${email}\` shows all.`)
    }),
}
