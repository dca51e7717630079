/** `portico migrate`: shows and applies the changes of the database that the model needs. */

import { printable } from '../../../base/printable.ts'
import type { MigrationStep } from '../../../engine/store/schema/sqlite/migrate.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../../server/config/config.ts'
import { isPostgres } from '../../../server/config/database.ts'
import { refuseRowSecurity } from '../../../server/config/row-security.ts'
import { Failure } from '../failure.ts'
import { database, model, projectOf } from '../options.ts'
import type { Command } from './commands.ts'

/** Formats steps. A step contains all changes of one table: each sentence is a line, marked `!` if it loses data. */
export function formatSteps(steps: readonly MigrationStep[], withSql: boolean): string {
  const mark = (destructive: boolean, index: number) => (destructive ? '! ' : index === 0 ? '- ' : '  ')
  const statements = (sql: readonly string[]) =>
    withSql ? sql.map(text => `        ${text.replaceAll('\n', '\n        ')};\n`).join('') : ''
  return steps
    .map(({ sql, faults = [], ...step }) => {
      const parts = (step.parts ?? [step]).map(
        ({ sentence, destructive }, index) => `  ${mark(destructive, index)}${sentence}\n`,
      )
      return [...parts, ...faults.map(fault => `  x ${printable(fault)}\n`), statements(sql)].join('')
    })
    .join('')
}

export const misfitNotice = 'Lines marked x: the data does not fit. Correct the data first.'

export interface Migration {
  plan(): Promise<readonly MigrationStep[]>
  apply(options: { readonly allowDestructive: boolean }): Promise<unknown>
}

export async function migrationOf(model: Model, settings: Settings): Promise<Migration> {
  const { database, rowSecurity } = settings
  if (isPostgres(database)) {
    const { applyPostgres, planPostgres } = await import('../../../engine/store/schema/postgres/migrate.ts')
    return {
      plan: () => planPostgres(database, model, rowSecurity),
      apply: options => applyPostgres(database, model, { ...options, rowSecurity }),
    }
  }
  refuseRowSecurity(settings)
  const { applyMigration, planMigration } = await import('../../../engine/store/schema/sqlite/migrate.ts')
  return {
    plan: async () => planMigration(database, model),
    apply: async options => applyMigration(database, model, options),
  }
}

/** Returns the SQL that creates the tables, in the dialect of the configured database. */
export async function schemaSqlOf(model: Model, settings: Settings): Promise<string> {
  const { database, rowSecurity } = settings
  if (!isPostgres(database)) {
    refuseRowSecurity(settings)
    return (await import('../../../engine/store/schema/sqlite/migrate.ts')).schemaSql(model)
  }
  return (await import('../../../engine/store/schema/postgres/migrate.ts')).postgresSchemaSql(
    model,
    rowSecurity,
  )
}

interface MigrateOptions {
  readonly apply: boolean
  readonly allowDestructive: boolean
  /** Whether to show the statements. */
  readonly sql: boolean
}

/** Returns the text to print. Throws a `Failure` if a step loses data and the options do not allow it. */
async function migrate(model: Model, settings: Settings, options: MigrateOptions): Promise<string> {
  const migration = await migrationOf(model, settings)
  const steps = await migration.plan()
  if (steps.length === 0) {
    // Removes the preparations of an interrupted migration.
    if (options.apply) await migration.apply({ allowDestructive: false })
    return 'The database matches the model: nothing to do.\n'
  }
  const plan = `The model changes the database:\n${formatSteps(steps, options.sql)}`
  const losesData = steps.some(step => step.destructive)
  const dataFits = steps.every(step => step.faults === undefined)
  if (!options.apply) {
    const flags = losesData ? '--apply --allow-destructive' : '--apply'
    const warning = losesData ? 'Steps marked ! lose data. ' : ''
    if (!dataFits) return `${plan}\n${warning}${misfitNotice} Nothing was changed.\n`
    return `${plan}\n${warning}Nothing was changed: run \`portico migrate ${flags}\` to apply the steps, all or nothing.\n`
  }
  if (losesData && !options.allowDestructive) {
    throw new Failure(
      `${plan}\nSteps marked ! lose data: add \`--allow-destructive\` if that is intended. Nothing was changed.`,
    )
  }
  if (!dataFits) throw new Failure(`${plan}\n${misfitNotice} Nothing was changed.`)
  await migration.apply({ allowDestructive: options.allowDestructive })
  return `${plan}\nDone.\n`
}

export const command: Command = {
  options: {
    apply: { value: undefined, sentence: 'Apply the steps, all or nothing.' },
    'allow-destructive': { value: undefined, sentence: 'Also apply steps that lose data.' },
    sql: { value: undefined, sentence: 'Show the SQL of each step.' },
    model,
    database,
  },
  async run(args) {
    const { model: checked, settings } = await projectOf(args)
    return migrate(checked, settings, {
      apply: args.flag('apply'),
      allowDestructive: args.flag('allow-destructive'),
      sql: args.flag('sql'),
    })
  },
}
