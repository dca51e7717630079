/** Where Portico runs while it is measured: on which database, with how many workers. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { PostgresServer, query } from '../test/databases/postgres.ts'
import { copyOf, type DataSet, type WorkCopy } from './data.ts'
import { porticoEnvironment } from './server.ts'
import type { Workload } from './workloads.ts'

/** A part of `Workload['floor']`. */
type Floor = keyof Workload['floor']

export interface Stage {
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
  /** Which floor holds here for answers from the database. */
  readonly floor: Floor | undefined
  copy(data: DataSet): Promise<WorkCopy>
  close(): Promise<void>
}

const none = async () => {}

export const sqlite: Stage = {
  name: 'SQLite',
  environment: {},
  floor: 'cold',
  copy: async data => copyOf(data),
  close: none,
}

export function withWorkers(count: number): Stage {
  return {
    ...sqlite,
    name: `SQLite, ${count} workers`,
    environment: { WORKERS: String(count) },
    floor: undefined,
  }
}

function porticoCopy(from: string, to: string): void {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['dist/bin.js', 'copy', '--from', from, '--to', to],
    {
      cwd: join(import.meta.dirname, '..'),
      env: { ...process.env, ...porticoEnvironment },
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`The data could not be copied into PostgreSQL:\n${stderr}`)
}

/** A server of its own with the settings that PostgreSQL has by itself, but for memory. */
export async function postgres(data: DataSet): Promise<Stage> {
  const server = new PostgresServer({ shared_buffers: '256MB' })
  await server.start()
  const urlOf = (name: string) => {
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return url.href
  }
  await query(server.url, 'CREATE DATABASE "base"')
  const original = copyOf(data)
  porticoCopy(original.data.database, urlOf('base'))
  await original.remove()
  return {
    name: 'PostgreSQL',
    environment: {},
    floor: 'postgres',
    async copy(asked) {
      await query(server.url, 'CREATE DATABASE "work" TEMPLATE "base"')
      await query(urlOf('work'), 'ANALYZE')
      return {
        data: { ...asked, database: urlOf('work') },
        remove: async () => void (await query(server.url, 'DROP DATABASE "work" WITH (FORCE)')),
      }
    },
    close: () => server.remove(),
  }
}
