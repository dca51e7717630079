/** `portico users`: manages accounts. A service may run at the same time. */

import { system } from '../../../base/principal.ts'
import { listShape, readAll, updateShape } from '../../../engine/plan/system-plans.ts'
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
} from '../../../identity/accounts/administration.ts'
import { passwordFault } from '../../../identity/accounts/sign-in/password-rules.ts'
import { createUser, generatePassword } from '../../../identity/bootstrap.ts'
import { withGrantEnds } from '../../../identity/grant-ends.ts'
import { isPasswordTooLong, maxPasswordCharacters } from '../../../identity/password.ts'
import { withDenials } from '../../../identity/server/tokens/deny-list.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { counted } from '../counted.ts'
import { databaseOptions, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { openNotices } from '../notices.ts'
import { type TableRow, tableOr } from '../table.ts'
import { requireUser } from '../user.ts'
import type { Command, ParsedArgs } from './commands.ts'

const columns = ['id', 'name', 'email', 'role', 'disabled', 'created_at']
const newRole = updateShape('users', ['role'])

function usersOf(model: Model): Collection {
  const users = model.collections.get('users')
  if (!users) throw new Failure('The model has no users.')
  return users
}

/** The body of a new user. Each `--set name=value` adds a field. */
function userBody(model: Model, args: ParsedArgs): Readonly<Record<string, JsonValue>> {
  const users = usersOf(model)
  const email = args.required('email')
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
      throw new Failure(
        `\`--set ${pair}\`: write field=value, with a field of users and a value of its type.`,
        2,
      )
    body[name] = value
  }
  return bodyValidator(users).create(body).values
}

async function createUserAs({ model, run }: OpenedModel, args: ParsedArgs): Promise<string> {
  const chosen = args.text('password')
  const password = chosen ?? generatePassword()
  if (isPasswordTooLong(password)) {
    throw new Failure(`\`--password\` may have at most ${maxPasswordCharacters} characters.`, 2)
  }
  const id = await createUser(run, userBody(model, args), password)
  const passwordText = chosen === undefined ? `, with the password ${password} (shown once)` : ''
  return `Created user ${id}, ${args.required('email')}${passwordText}\n`
}

async function listUsers({ run }: OpenedModel): Promise<string> {
  return tableOr('There are no users.', columns, await readAll<TableRow>(run, listShape('users', columns)))
}

async function assignRole({ model, run }: OpenedModel, email: string, role: string): Promise<string> {
  const { values } = bodyValidator(usersOf(model)).merge({ role })
  const { id } = await requireUser(run, email)
  const args = [id, values.role ?? role]
  await run.write({ shape: newRole, args }, system)
  return `${email} now has the role ${role}\n`
}

export const create: Command = {
  options: {
    email: { value: 'email', sentence: 'The e-mail address.', required: true },
    name: { value: 'text', sentence: 'The name. Default: the part of the address before the @.' },
    role: { value: 'role', sentence: 'The role, which rules compare by `role(…)`. Default: user.' },
    password: {
      value: 'text',
      sentence: 'The password, at most 256 characters. Default: a generated one, printed once.',
    },
    set: { value: 'field=value', sentence: 'Another field of the user. Can be repeated.', multiple: true },
    ...databaseOptions,
  },
  run: args => withDatabase(args, opened => createUserAs(opened, args)),
}

export const list: Command = {
  options: databaseOptions,
  run: args => withDatabase(args, listUsers),
}

export const setRole: Command = {
  arguments: ['email', 'role'],
  options: databaseOptions,
  run: args =>
    withDatabase(args, opened => assignRole(opened, args.arguments[0] ?? '', args.arguments[1] ?? '')),
}

interface Administered {
  readonly parts: AdministrationParts
  readonly email: string
  readonly id: number
  /** Returns a sentence that tells whether the user was notified. */
  readonly noticeOutcome: () => Promise<string>
}

type UserCommand = (administered: Administered) => Promise<string>

/** For commands whose first argument is a user's e-mail address. */
function administer(args: ParsedArgs, command: UserCommand): Promise<string> {
  return withDatabase(args, async ({ run, records, settings }) => {
    const lifetimes = settings['oauth.lifetimes']
    const denying = withDenials(await records(), lifetimes.accessToken / 1000)
    const notices = await openNotices(settings, denying)
    const parts = {
      run,
      records: withGrantEnds(denying, run),
      sessionSeconds: lifetimes.session / 1000,
      notices: notices.parts,
    }
    const { id, email } = await requireUser(run, args.arguments[0] ?? '')
    return command({ parts, email, id, noticeOutcome: notices.outcome })
  })
}

export const disable: Command = {
  arguments: ['email'],
  options: databaseOptions,
  run: args =>
    administer(args, async ({ parts, email, id, noticeOutcome }) => {
      const isNew = await disableUser(parts, id)
      if (!isNew) return `${email} is already disabled\n`
      return `${email} is disabled: their credentials are no longer accepted\n${await noticeOutcome()}`
    }),
}

export const enable: Command = {
  arguments: ['email'],
  options: databaseOptions,
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      await enableUser(parts, id)
      return `${email} is enabled; their paused webhooks must be enabled separately\n`
    }),
}

async function changePassword(
  { parts, email, id, noticeOutcome }: Administered,
  chosen: string | undefined,
  isOnlyWay: boolean,
): Promise<string> {
  const password = chosen ?? generatePassword()
  const fault = passwordFault(password, email)
  if (fault !== undefined) throw new Failure(`\`--password\`: ${fault}`, 2)
  await setPassword(parts, { id, email }, password, isOnlyWay)
  const passwordText = chosen === undefined ? `: ${password} (shown once)` : ''
  const others = isOnlyWay ? ', passkeys, sign-ins with providers and one-time codes' : ''
  return `${email} has a new password${passwordText}\nTheir sessions, tokens, connected apps and API keys${others} were revoked.\n${await noticeOutcome()}`
}

export const newPassword: Command = {
  arguments: ['email'],
  options: {
    password: { value: 'text', sentence: 'The password. Default: a generated one, printed once.' },
    'only-way': {
      value: undefined,
      sentence: 'Also remove passkeys, sign-ins with providers and one-time codes.',
    },
    ...databaseOptions,
  },
  run: args =>
    administer(args, administered =>
      changePassword(administered, args.text('password'), args.flag('only-way')),
    ),
}

const sessionColumns = ['id', 'signed_in_at', 'expires_at', 'address', 'browser']

async function listSessions(parts: AdministrationParts, email: string, id: number): Promise<string> {
  const rows = (await sessionsOf(parts, id)).map(session => ({
    id: session.id,
    signed_in_at: new Date(session.signedInAt).toISOString(),
    expires_at: new Date(session.expiresAt).toISOString(),
    address: session.address,
    browser: session.userAgent,
  }))
  return tableOr(`${email} has no sessions.`, sessionColumns, rows)
}

export const sessions: Command = {
  arguments: ['email'],
  options: {
    end: { value: 'id', sentence: 'End this session, by its id in the list.' },
    'end-all': { value: undefined, sentence: 'End all sessions, and sign-ins in progress.' },
    ...databaseOptions,
  },
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      if (args.flag('end-all'))
        return `Ended ${counted(await endSessions(parts, id), 'session')} of ${email}\n`
      const session = args.text('end')
      if (session === undefined) return listSessions(parts, email, id)
      if (await endSession(parts, id, session)) return `Ended the session ${session}\n`
      throw new Failure(`${email} has no session ${session}. \`portico users sessions ${email}\` shows all.`)
    }),
}

async function listGrants(parts: AdministrationParts, email: string, id: number): Promise<string> {
  const rows = (await grantsOf(parts, id)).map(({ clientId, scopes, at }) => ({
    client_id: clientId,
    scopes: scopes.join(' '),
    allowed_at: new Date(at).toISOString(),
  }))
  return tableOr(`${email} has granted no app access.`, ['client_id', 'scopes', 'allowed_at'], rows)
}

export const grants: Command = {
  arguments: ['email'],
  options: {
    revoke: { value: 'client_id', sentence: 'Revoke the access of this app.' },
    'revoke-all': { value: undefined, sentence: 'Revoke the access of every app.' },
    ...databaseOptions,
  },
  run: args =>
    administer(args, async ({ parts, email, id }) => {
      if (args.flag('revoke-all')) {
        await revokeGrants(parts, id)
        return `Revoked the access of all apps to the account of ${email}\n`
      }
      const app = args.text('revoke')
      if (app === undefined) return listGrants(parts, email, id)
      if (await revokeGrant(parts, id, app))
        return `Revoked the access of ${app} to the account of ${email}\n`
      throw new Failure(
        `${email} has granted ${app} no access. \`portico users grants ${email}\` shows all grants.`,
      )
    }),
}
