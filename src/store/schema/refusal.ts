/** Why a database cannot be migrated to a model. */
import type { Step } from './diff.ts'

/** Why the database cannot be migrated to the model; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Told = readonly Pick<Step, 'sentence' | 'parts'>[]

export function wouldLoseData(steps: Told): MigrationError {
  const parts = steps.flatMap<{ readonly sentence: string }>(
    step => step.parts?.filter(part => part.destructive) ?? [step],
  )
  return new MigrationError(
    `The migration would lose data:\n${listed(parts)}\n` +
      'Run `portico migrate --apply --allow-destructive` if that is what you want.',
  )
}

export function needsCommand(steps: Told): MigrationError {
  return new MigrationError(
    `The database does not fit the model:\n${listed(steps)}\n` +
      'Run `portico migrate` to see the plan, and `portico migrate --apply` to apply it.',
  )
}

/** `faults`: what in the data prevents the migration. */
export function preventedByRows(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `Nothing was changed. These items prevent the migration:\n${faults.map(fault => `  - ${fault}`).join('\n')}\n` +
      'Then run `portico migrate` again.',
  )
}

/** The same after the migration: a node of an older model wrote the items during it. */
export function rowsWrittenMeanwhile(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `The database was migrated, but these items do not fit the model. Nodes of an older model wrote them during the migration: stop those first.\n${faults.map(fault => `  - ${fault}`).join('\n')}`,
  )
}

export function changedOutside(names: readonly string[]): MigrationError {
  return new MigrationError(
    `The database lacks ${names.join(', ')}, which Portico made. Something else changed its tables: restore them from a backup.`,
  )
}

export function unfinishedCopy(): MigrationError {
  return new MigrationError(
    'The database is an unfinished copy. Run the same `portico copy` again to finish it.',
  )
}

/** Whether PostgreSQL's driver reports that the connection was lost. */
export function isConnectionLost(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  const isSaid = /^(Connection terminated|Client has encountered a connection error)/.test(cause.message)
  return isSaid || 'syscall' in cause
}

function listed(steps: readonly { readonly sentence: string }[]): string {
  return steps.map(step => `  - ${step.sentence}`).join('\n')
}
