/** `portico migrate`: what the model changes in the database, shown and done. */
import type { Settings } from '../config.ts'
import type { Model } from '../model/model.ts'
import { applyMigration, planMigration, type Step } from '../store/schema/migrate.ts'
import { Failure } from './failure.ts'

/** What happens to one table is one step; each of its sentences gets a line. */
function shown(steps: readonly Step[]): string {
  const lines = (sentence: string) => sentence.replaceAll(/\. (?=[A-Z])/g, '.\n    ')
  return steps
    .map(({ sentence, destructive }) => `  ${destructive ? '! ' : '- '}${lines(sentence)}\n`)
    .join('')
}

export interface MigrateOptions {
  readonly apply: boolean
  readonly allowDestructive: boolean
}

/** Returns what is printed. A `Failure` when a step destroys data and nobody allowed it. */
export function migrate(model: Model, { database }: Settings, options: MigrateOptions): string {
  const steps = planMigration(database, model)
  if (steps.length === 0) return 'The database fits the model: there is nothing to do.\n'
  const plan = `The model changes the database:\n${shown(steps)}`
  const destroys = steps.some(step => step.destructive)
  if (!options.apply) {
    const flags = destroys ? '--apply --allow-destructive' : '--apply'
    const warning = destroys ? 'Steps marked ! lose data. ' : ''
    return `${plan}\n${warning}Nothing is done yet: run \`portico migrate ${flags}\` to do it, all or nothing.\n`
  }
  if (destroys && !options.allowDestructive) {
    throw new Failure(
      `${plan}\nSteps marked ! lose data: add \`--allow-destructive\` if that is meant. Nothing was done.`,
    )
  }
  applyMigration(database, model, { allowDestructive: options.allowDestructive })
  return `${plan}\nDone.\n`
}
