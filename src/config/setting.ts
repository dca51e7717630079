/** One setting of the table. */
import type { Kind } from './kinds.ts'

export interface Setting<T> {
  /** Its environment variable. */
  readonly variable: string
  readonly kind: Kind<T>
  readonly default: T
  /** Describes the default in the reference of settings, if it is not a constant. */
  readonly defaultText?: string
  readonly secret?: true
  readonly description: string
}

export function setting<T>(row: Setting<T>): Setting<T> {
  return row
}

/** A setting without a default. */
export function optional<T>(row: Omit<Setting<T>, 'default'>): Setting<T | undefined> {
  return { ...row, default: undefined }
}
