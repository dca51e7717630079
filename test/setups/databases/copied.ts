/**
 * PostgreSQL databases that are created when they are first used. If the tables of a model are wanted and were wanted before,
 * they are copied with the database: that takes a fifth of the time of creating them.
 */
import { createHash, randomBytes } from 'node:crypto'
import { rowSecurity } from '../../../src/engine/store/postgres/row-security/policies.ts'
import { preparePostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { schemaOf } from '../../../src/engine/store/schema/tables.ts'
import type { Model } from '../../../src/model/model.ts'
import { beforeOwnerEnds, templateOwner, urlFor } from './owner.ts'
import { copyQuickly, isServerOfRun, query, serverUrl } from './postgres.ts'

export interface PlannedDatabase {
  readonly url: string
  /** The URL of the superuser. */
  readonly admin: string
  /** Creates the database, unless it exists: with the empty tables of the model, or without any. */
  create(model?: Model): Promise<void>
  drop(): Promise<void>
}

/** The names of templates, by the tables that they have. */
const templates = new Map<string, Promise<string>>()
/** The tables that were wanted once. */
const wanted = new Set<string>()
/** All processes of a run share the templates. */
const scope = isServerOfRun ? 'run' : randomBytes(8).toString('hex')

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
  await query(await serverUrl(), `CREATE DATABASE "${name}" TEMPLATE "${template}"${ownedBy} ${copyQuickly}`)
}

async function exists(name: string): Promise<boolean> {
  const rows = await query(await serverUrl(), 'SELECT 1 FROM pg_database WHERE datname = $1', [name])
  return rows.length > 0
}

/** The name of a database with the tables of the model; undefined the first time, since most models are used once. */
async function templateOf(model: Model, isOrdinary: boolean): Promise<string | undefined> {
  const policies = isOrdinary ? rowSecurity(model).fingerprint : ''
  const key = `${policies} ${JSON.stringify(schemaOf(model))}`
  const name = `template_${scope}_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`
  if (!wanted.has(key)) {
    wanted.add(key)
    return isServerOfRun && (await exists(name)) ? name : undefined
  }
  const template = templates.get(key) ?? createTemplate(name, model, isOrdinary)
  templates.set(key, template)
  return template
}

/** Another process may create the same at the same time. */
async function createTemplate(name: string, model: Model, isOrdinary: boolean): Promise<string> {
  if (await exists(name)) return name
  const made = newName()
  const owner = isOrdinary ? await templateOwner() : undefined
  await createDatabase(made, 'template0', owner?.name)
  const admin = await databaseUrl(made)
  const url = owner === undefined ? admin : urlFor(admin, owner)
  await preparePostgres(url, model, { autoMigrate: true, rowSecurity: isOrdinary })
  await query(await serverUrl(), `ALTER DATABASE "${made}" RENAME TO "${name}"`).catch(async error => {
    if (!(await exists(name))) throw error
    await query(await serverUrl(), `DROP DATABASE "${made}" WITH (FORCE)`)
  })
  return name
}

async function planDatabase(isOrdinary: boolean): Promise<PlannedDatabase> {
  const name = newName()
  const owner = isOrdinary ? await templateOwner() : undefined
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
  if (isServerOfRun) return
  for (const name of names) await query(await serverUrl(), `DROP DATABASE "${name}"`)
})
