/** Whether a service may start on a database that differs from its model. */
import type { MigrationStep } from './diff.ts'
import { commandNeededError } from './refusal.ts'
import type { Schema } from './tables.ts'

export interface Start {
  /** Whether additive changes are applied. If not, the database may have more tables and columns, and may lack indexes. */
  readonly autoMigrate: boolean
  /** Called with the steps that are not applied: additional tables and columns, and missing indexes. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
}

type PlannedStep = Pick<MigrationStep, 'sentence' | 'additive' | 'surplus' | 'allowsValuesOnly'>

/** Whether a service of the model may start without any step, such as an older version after a newer one has migrated. */
export function mayStartWithoutSteps(
  steps: readonly PlannedStep[],
  { autoMigrate, onSurplus }: Start,
): boolean {
  if (steps.length === 0) return true
  if (autoMigrate || !steps.every(step => step.surplus)) return false
  const reported = steps.filter(step => step.allowsValuesOnly !== true)
  if (reported.length > 0) onSurplus?.(reported.map(step => step.sentence))
  return true
}

/**
 * The stored schema without the limits that a service of the model does not keep, so that the next migration to them checks
 * the data again; undefined if it keeps all.
 */
export function withoutLostLimits(stored: Schema, { tables: kept }: Schema): Schema | undefined {
  let isLost = false
  const tables = stored.tables.map(table => {
    const other = kept.find(({ name }) => name === table.name)
    if (other === undefined || table.noOverlaps === undefined) return table
    const noOverlaps = table.noOverlaps.filter(limit => other.noOverlaps?.includes(limit))
    isLost ||= noOverlaps.length < table.noOverlaps.length
    return { ...table, noOverlaps }
  })
  return isLost ? { ...stored, tables } : undefined
}

/** Throws a `MigrationError` if a start may not apply some of the steps. */
export function requireAdditive(steps: readonly PlannedStep[], { autoMigrate }: Start): void {
  const refused = autoMigrate ? steps.filter(step => !step.additive) : steps
  if (refused.length > 0) throw commandNeededError(refused)
}
