/** `portico users`: accounts, beside a service that may be running. */
import { createUser, generatePassword } from '../auth/bootstrap.ts'
import { isPasswordTooLong, maxPasswordCharacters } from '../auth/password.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection, Model } from '../model/model.ts'
import { bodyValidator } from '../model/validate.ts'
import type { Run } from '../plan/run.ts'
import { listShape, readAll, readFirst, updateShape, where } from '../plan/system-plans.ts'
import { system } from '../principal.ts'
import type { Command, ParsedArgs } from './commands.ts'
import { files, type OpenedModel, withDatabase } from './database.ts'
import { Failure } from './failure.ts'
import { type Listed, tableOr } from './table.ts'

const columns = ['id', 'name', 'email', 'role', 'created_at']
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
