/** Why a database is not brought to a model. */
import type { Step } from './diff.ts'

/** Something that keeps the database from being brought to the model; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Told = readonly Pick<Step, 'sentence' | 'parts'>[]

export function destroys(steps: Told): MigrationError {
  const parts = steps.flatMap<{ readonly sentence: string }>(
    step => step.parts?.filter(part => part.destructive) ?? [step],
  )
  return new MigrationError(
    `The migration would lose data:\n${listed(parts)}\n` +
      'Run `portico migrate --apply --allow-destructive` if that is what you want.',
  )
}

export function notByItself(steps: Told): MigrationError {
  return new MigrationError(
    `The database does not fit the model:\n${listed(steps)}\n` +
      'Run `portico migrate` to see the plan, and `portico migrate --apply` to apply it.',
  )
}

/** `faults`: what in the data keeps the migration from being done. */
export function doesNotFit(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `Nothing was changed. Items keep the database from being brought to the model:\n${faults.map(fault => `  - ${fault}`).join('\n')}\n` +
      'Then run `portico migrate` again.',
  )
}

/** The same after the migration: written meanwhile by a node of an older model. */
export function fitsNoMore(faults: readonly string[]): MigrationError {
  return new MigrationError(
    `The database was brought to the model, but these items do not fit it. A node of an older model has written them meanwhile; stop those first.\n${faults.map(fault => `  - ${fault}`).join('\n')}`,
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

function listed(steps: readonly { readonly sentence: string }[]): string {
  return steps.map(step => `  - ${step.sentence}`).join('\n')
}
