/** A project with an empty database of either kind, and the commands inside it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { secretKey } from '../../../setups/postgres.ts'
import { type CommandResult, portico } from '../../../system/processes/command.ts'
import { inheritedEnvironment } from '../../../system/processes/environment.ts'
import { library, program } from '../../../system/processes/program.ts'

const modelText = `import { anyone, boolean, choice, collection, count, datetime, field, integer, json, model, number, relation, signedIn, string, text } from '${library}'
export default model({
  things: collection({
    fields: {
      name: string({ unique: true }),
      note: text({ optional: true, max: 100000 }),
      size: integer({ default: 3, max: 1000000 }),
      weight: number({ optional: true }),
      done: boolean({ default: false }),
      kind: choice(['odd', 'even'], { optional: true }),
      at: datetime({ optional: true }),
      extra: json({ optional: true }),
      pin: string({ optional: true, writeOnly: true }),
      parent_id: relation('things', { optional: true, inverse: 'children' }),
    },
    computed: { done_children: count('children', { where: field('done').eq(true), asSystem: true, stored: true }) },
    access: { read: anyone, create: signedIn, update: signedIn },
  }),
})
`

export interface Project {
  readonly folder: string
  /** The URL of the database. */
  readonly url: string
  readonly environment: Readonly<Record<string, string>>
  write(file: string, text: string | Buffer): void
  portico(...args: string[]): Promise<CommandResult>
  /** Runs the command with this standard input. */
  porticoWithInput(input: Iterable<string>, ...args: string[]): Promise<CommandResult>
  rows(text: string): Promise<readonly Record<string, unknown>[]>
}

function projectIn(folder: string, url: string): Project {
  const environment = { PORTICO_MODEL: 'model.ts', DATABASE_URL: url, PORTICO_SECRET_KEY: secretKey }
  writeFileSync(join(folder, 'model.ts'), modelText)
  return {
    folder,
    url,
    environment,
    write: (file, text) => writeFileSync(join(folder, file), text),
    portico: (...args) => portico(args, { folder, environment }),
    porticoWithInput: (input, ...args) => porticoWithInput(folder, environment, input, args),
    async rows(text) {
      if (url.startsWith('postgres')) return query(url, text)
      const database = new DatabaseSync(join(folder, url), { readOnly: true })
      try {
        return database.prepare(text).all()
      } finally {
        database.close()
      }
    },
  }
}

async function porticoWithInput(
  cwd: string,
  environment: Project['environment'],
  input: Iterable<string>,
  args: readonly string[],
): Promise<CommandResult> {
  const child = spawn(process.execPath, [...program, ...args], {
    cwd,
    env: { ...inheritedEnvironment, ...environment },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  child.stdin.on('error', () => {})
  const exit = new Promise<number | null>(resolve => child.once('close', resolve))
  for (const text of input) {
    if (!child.stdin.write(text)) await Promise.race([exit, once(child.stdin, 'drain')])
  }
  child.stdin.end()
  return { code: await exit, out, err }
}

/** Runs `use` in a new project; `kind` is that of its database. */
export async function withProject(
  kind: 'SQLite' | 'PostgreSQL',
  use: (project: Project) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-transfer-'))
  try {
    if (kind === 'SQLite') await use(projectIn(folder, 'data.db'))
    else await withPostgres(url => use(projectIn(folder, url)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const kinds = ['SQLite', 'PostgreSQL'] as const
