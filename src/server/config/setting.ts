/** One setting of the table. */
import type { Kind } from './kinds.ts'

/** `G`: its values in a config file or a program. */
export interface Setting<T, G = T> {
  /** Its environment variable. */
  readonly variable: string
  readonly kind: Kind<T, G>
  readonly default: NoInfer<G>
  /** Describes the default in the reference of settings, if it is not a constant. */
  readonly defaultText?: string
  /** One line for each member, in the reference of settings. */
  readonly members?: readonly string[]
  readonly secret?: true
  readonly description: string
}

export function setting<T, G = T>(row: Setting<T, G>): Setting<T, G> {
  return row
}

/** A setting without a default. */
export function optional<T>(row: Omit<Setting<T>, 'default'>): Setting<T | undefined> {
  return { ...row, default: undefined }
}
