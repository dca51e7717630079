/** What a start does with a database that does not fit its model exactly. */
import type { Step } from './diff.ts'
import { notByItself } from './refusal.ts'

export interface Start {
  /** Whether additive changes are applied. If not, the database may have more than the model, and may lack indexes. */
  readonly autoMigrate: boolean
  /** Called with the steps that are not applied: what the database has beyond the model, and the indexes that it lacks. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
}

type Planned = Pick<Step, 'sentence' | 'additive' | 'surplus' | 'isQuiet'>

/** Whether a service of the model may start without any step: an older version, after a newer one has migrated. */
export function fits(steps: readonly Planned[], { autoMigrate, onSurplus }: Start): boolean {
  if (steps.length === 0) return true
  if (autoMigrate || !steps.every(step => step.surplus)) return false
  const told = steps.filter(step => step.isQuiet !== true)
  if (told.length > 0) onSurplus?.(told.map(step => step.sentence))
  return true
}

/** Throws a `MigrationError` if some steps need the command. */
export function requireByItself(steps: readonly Planned[], { autoMigrate }: Start): void {
  const stopped = autoMigrate ? steps.filter(step => !step.additive) : steps
  if (stopped.length > 0) throw notByItself(stopped)
}
