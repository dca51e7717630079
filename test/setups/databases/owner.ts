/** Ordinary roles, to which policies apply, unlike the superuser of other tests. */
import { randomBytes } from 'node:crypto'
import { isServerOfRun, query, serverUrl } from './postgres.ts'

export interface User {
  readonly name: string
  readonly password: string
}

let owner: Promise<User> | undefined

/** Creates a role without privileges. */
export async function newUser(): Promise<User> {
  const user = { name: `user_${randomBytes(8).toString('hex')}`, password: randomBytes(8).toString('hex') }
  await query(await serverUrl(), `CREATE ROLE "${user.name}" LOGIN PASSWORD '${user.password}'`)
  return user
}

export async function dropUser({ name }: User): Promise<void> {
  await query(await serverUrl(), `DROP ROLE "${name}"`)
}

/** The URL of a database for another role. */
export function urlFor(url: string, { name, password }: User): string {
  const userUrl = new URL(url)
  userUrl.username = name
  userUrl.password = password
  return userUrl.href
}

/** All databases of a process have the same owner. */
export function databaseOwner(): Promise<User> {
  owner ??= newUser()
  return owner
}

/** The owner of the databases that are copies of templates, which the processes of a run share. */
export function templateOwner(): Promise<User> {
  return isServerOfRun ? ownerOfRun() : databaseOwner()
}

let sharedOwner: Promise<User> | undefined

function ownerOfRun(): Promise<User> {
  const user = { name: 'owner_of_run', password: 'of every process' }
  const text = `CREATE ROLE "${user.name}" LOGIN PASSWORD '${user.password}'`
  const create = async () => {
    await query(await serverUrl(), text).catch(error => {
      // Another process has created it.
      if (error.code !== '42710' && error.code !== '23505') throw error
    })
    return user
  }
  sharedOwner ??= create()
  return sharedOwner
}

const ending: (() => Promise<unknown>)[] = []

/** Calls the function before the owner is dropped: it drops what the owner has. */
export function beforeOwnerEnds(drop: () => Promise<unknown>): void {
  ending.push(drop)
}

// A later test gets a new role: if test files share a process, it may be idle for a moment between them.
process.on('beforeExit', async () => {
  const last = owner
  owner = undefined
  for (const drop of ending) await drop()
  if (last !== undefined) await dropUser(await last).catch(() => {})
})
