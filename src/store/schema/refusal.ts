/** Why a database is not brought to a model. */
import type { Step } from './diff.ts'

/** Something that keeps the database from being brought to the model; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Told = readonly Pick<Step, 'sentence'>[]

export function destroys(steps: Told): MigrationError {
  return new MigrationError(
    `The migration would lose data or may fail on existing items:\n${listed(steps)}\n` +
      'Run `portico migrate --apply --allow-destructive` if that is what you want.',
  )
}

export function notByItself(steps: Told): MigrationError {
  return new MigrationError(
    `The database does not fit the model:\n${listed(steps)}\n` +
      'Run `portico migrate` to see the plan, and `portico migrate --apply` to apply it.',
  )
}

export function lacks(names: readonly string[]): MigrationError {
  return new MigrationError(
    `The database lacks ${names.join(', ')}, which Portico made. Something else changed its tables: restore them from a backup.`,
  )
}

export function isHalfCopied(): MigrationError {
  return new MigrationError(
    'The database is a copy that is not done. Run the same `portico copy` again to finish it.',
  )
}

/** Whether PostgreSQL's driver tells of a connection that is gone. */
export function isBroken(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  const isSaid = /^(Connection terminated|Client has encountered a connection error)/.test(cause.message)
  return isSaid || 'syscall' in cause
}

function listed(steps: Told): string {
  return steps.map(step => `  - ${step.sentence}`).join('\n')
}
