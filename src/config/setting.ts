/** One setting of the table. */
import type { Kind } from './kinds.ts'

export interface Setting<T> {
  /** Its environment variable. */
  readonly variable: string
  readonly kind: Kind<T>
  readonly default: T
  /** Describes the default in the reference of settings, if it depends on something. */
  readonly defaultText?: string
  readonly secret?: true
  readonly description: string
}

export function setting<T>(declared: Setting<T>): Setting<T> {
  return declared
}

/** A setting without a default. */
export function optional<T>(declared: Omit<Setting<T>, 'default'>): Setting<T | undefined> {
  return { ...declared, default: undefined }
}
