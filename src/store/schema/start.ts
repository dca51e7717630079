/** What a start may make of a database that does not fit its model exactly. */
import type { Step } from './diff.ts'
import { notByItself } from './refusal.ts'

export interface Start {
  /** Whether what the model only adds is added. If not, what the database has beyond the model may stay, and an index may be missing. */
  readonly autoMigrate: boolean
  /** Notified, as steps that are not done, of what the database has beyond the model and of indexes that it lacks. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
}

type Planned = Pick<Step, 'sentence' | 'additive' | 'surplus' | 'isQuiet'>

/** Whether a service of the model may start with nothing done: an older version, after a newer one has migrated. */
export function fits(steps: readonly Planned[], { autoMigrate, onSurplus }: Start): boolean {
  if (steps.length === 0) return true
  if (autoMigrate || !steps.every(step => step.surplus)) return false
  const told = steps.filter(step => step.isQuiet !== true)
  if (told.length > 0) onSurplus?.(told.map(step => step.sentence))
  return true
}

/** Throws a `MigrationError` where there are steps that take the command. */
export function requireByItself(steps: readonly Planned[], { autoMigrate }: Start): void {
  const stopped = autoMigrate ? steps.filter(step => !step.additive) : steps
  if (stopped.length > 0) throw notByItself(stopped)
}
