/** The errors of migrations. */
import type { MigrationStep } from './diff.ts'

/** The database cannot be migrated to the model. The message gives the reason and the remedy. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** What `check` returns; false if it throws a `MigrationError`, perhaps because another process migrates the database. */
export function falseIfRefused(check: () => boolean): boolean {
  try {
    return check()
  } catch (error) {
    if (error instanceof MigrationError) return false
    throw error
  }
}

type StepSentences = readonly Pick<MigrationStep, 'sentence' | 'parts'>[]

export function dataLossError(steps: StepSentences): MigrationError {
  const parts = steps.flatMap<{ readonly sentence: string }>(
    step => step.parts?.filter(part => part.destructive) ?? [step],
  )
  return new MigrationError(
    `The migration would lose data:\n${bulletList(parts)}\n` +
      'Run `portico migrate --apply --allow-destructive` if that is what you want.',
  )
}

export function commandNeededError(steps: StepSentences): MigrationError {
  return new MigrationError(
    `The database does not fit the model:\n${bulletList(steps)}\n` +
      'Run `portico migrate` to see the plan, and `portico migrate --apply` to apply it.',
  )
}

/** `faults`: the faults in the data that prevent the migration. */
export function invalidRowsError(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `Nothing was changed. These items prevent the migration:\n${faults.map(fault => `  - ${fault}`).join('\n')}\n` +
      'Then run `portico migrate` again.',
  )
}

/** The error after a migration during which a node of an older model wrote invalid items. */
export function concurrentRowsError(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `The database was migrated, but these items do not fit the model. Nodes of an older model wrote them during the migration: stop those first.\n${faults.map(fault => `  - ${fault}`).join('\n')}`,
  )
}

export function missingColumnsError(names: readonly string[]): MigrationError {
  return new MigrationError(
    `The database lacks ${names.join(', ')}, which Portico created. Another program has changed its tables: restore them from a backup.`,
  )
}

export function unfinishedCopyError(): MigrationError {
  return new MigrationError(
    'The database is an unfinished copy. Run the same `portico copy` again to finish it.',
  )
}

/** Whether PostgreSQL's driver reports that the connection was lost. */
export function isConnectionLost(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  const hasMessage = /^(Connection terminated|Client has encountered a connection error)/.test(cause.message)
  return hasMessage || 'syscall' in cause
}

function bulletList(steps: readonly { readonly sentence: string }[]): string {
  return steps.map(step => `  - ${step.sentence}`).join('\n')
}
