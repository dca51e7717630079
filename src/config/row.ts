/** One setting of the table. */
import type { Kind } from './kinds.ts'

export interface Row<T> {
  readonly variable: string
  readonly kind: Kind<T>
  readonly default: T
  /** For the page of settings, where `default` depends on something. */
  readonly defaultText?: string
  readonly secret?: true
  readonly sentence: string
}

export function row<T>(made: Row<T>): Row<T> {
  return made
}

/** A setting that has no value unless somebody gives one. */
export function optional<T>(made: Omit<Row<T>, 'default'>): Row<T | undefined> {
  return { ...made, default: undefined }
}
