/**
 * PostgreSQL databases that are created when they are first used. If the tables of a model are wanted and were wanted before,
 * they are copied with the database: that takes a third of the time of creating them.
 */
import { randomBytes } from 'node:crypto'
import { rowSecurity } from '../../../src/engine/store/postgres/row-security/policies.ts'
import { preparePostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { schemaOf } from '../../../src/engine/store/schema/tables.ts'
import type { Model } from '../../../src/model/model.ts'
import { beforeOwnerEnds, databaseOwner, urlFor } from './owner.ts'
import { query, serverUrl } from './postgres.ts'

export interface PlannedDatabase {
  readonly url: string
  /** The URL of the superuser. */
  readonly admin: string
  /** Creates the database, unless it exists: with the empty tables of the model, or without any. */
  create(model?: Model): Promise<void>
  drop(): Promise<void>
}

const templates = new Map<string, Promise<string>>()
const wanted = new Set<string>()

function newName(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

async function databaseUrl(name: string): Promise<string> {
  const url = new URL(await serverUrl())
  url.pathname = `/${name}`
  return url.href
}

async function createDatabase(name: string, template: string, owner: string | undefined): Promise<void> {
  const ownedBy = owner === undefined ? '' : ` OWNER "${owner}"`
  await query(await serverUrl(), `CREATE DATABASE "${name}" TEMPLATE "${template}"${ownedBy}`)
}

/** The name of a database with the tables of the model; undefined the first time, since most models are used once. */
async function templateOf(model: Model, isOrdinary: boolean): Promise<string | undefined> {
  const policies = isOrdinary ? rowSecurity(model).fingerprint : ''
  const key = `${policies} ${JSON.stringify(schemaOf(model))}`
  if (!wanted.has(key)) {
    wanted.add(key)
    return undefined
  }
  const template = templates.get(key) ?? createTemplate(model, isOrdinary)
  templates.set(key, template)
  return template
}

async function createTemplate(model: Model, isOrdinary: boolean): Promise<string> {
  const name = newName()
  const owner = isOrdinary ? await databaseOwner() : undefined
  await createDatabase(name, 'template0', owner?.name)
  const admin = await databaseUrl(name)
  const url = owner === undefined ? admin : urlFor(admin, owner)
  await preparePostgres(url, model, { autoMigrate: true, rowSecurity: isOrdinary })
  return name
}

async function planDatabase(isOrdinary: boolean): Promise<PlannedDatabase> {
  const name = newName()
  const owner = isOrdinary ? await databaseOwner() : undefined
  const admin = await databaseUrl(name)
  let created: Promise<void> | undefined
  const create = async (model: Model | undefined) => {
    const template = model && (await templateOf(model, isOrdinary))
    await createDatabase(name, template ?? 'template0', owner?.name)
  }
  return {
    url: owner === undefined ? admin : urlFor(admin, owner),
    admin,
    create(model) {
      created ??= create(model)
      return created
    },
    async drop() {
      if (created === undefined) return
      await query(await serverUrl(), `DROP DATABASE "${name}" WITH (FORCE)`)
    },
  }
}

export const plannedDatabase = () => planDatabase(false)

/** Its owner is an ordinary role, to which policies apply. */
export const plannedOrdinaryDatabase = () => planDatabase(true)

beforeOwnerEnds(async () => {
  const names = await Promise.all(templates.values())
  templates.clear()
  wanted.clear()
  for (const name of names) await query(await serverUrl(), `DROP DATABASE "${name}"`)
})
