/** The arguments and results of `prepare` and `check`, typed by the fields of their collection. */
import type { JsonValue } from '../fields/type.ts'
import type { LogicCaller, WriteFault } from '../logic/logic.ts'
import type { Flat, StoredOf, TimesOf, UnpreparedOf } from './item.ts'

/** The stored row. */
export type StoredRow<Fields, UpdatedAt> = string extends keyof Fields
  ? Readonly<Record<string, JsonValue>>
  : Flat<{ readonly id: number } & StoredOf<Fields> & TimesOf<UpdatedAt>>

/** The item as it is about to be written. A create does not have an `id` yet. */
type NextItem<Fields, UpdatedAt> = string extends keyof Fields
  ? Readonly<Record<string, JsonValue>>
  : Flat<UnpreparedOf<Fields> & { readonly id?: number } & Partial<TimesOf<UpdatedAt>>>

/** The argument of `prepare` and `check`, typed by the fields of their collection. Deeply frozen. */
export interface TypedWriteContext<Fields, UpdatedAt> {
  readonly next: NextItem<Fields, UpdatedAt>
  /** The stored row, which is locked; undefined for a create. */
  readonly previous: StoredRow<Fields, UpdatedAt> | undefined
  readonly caller: LogicCaller | null
  /** The time of the write, ISO 8601 UTC. */
  readonly now: string
}

/** Any declared field, including read-only ones, but not `id` and the times. */
type Prepared<Fields> = string extends keyof Fields
  ? Readonly<Record<string, JsonValue>>
  : Flat<Partial<StoredOf<Fields>>>

/** Returns values to set in the item that is about to be written; nothing or `{}` for none. */
export type TypedPrepare<Fields, UpdatedAt> = (
  context: TypedWriteContext<Fields, UpdatedAt>,
) => Prepared<Fields> | undefined

interface TypedFault<Name> extends WriteFault {
  readonly field?: Name & string
}

type FieldName<Fields> = string extends keyof Fields ? string : keyof Fields & string

/** Returns the faults of an item that is about to be written. */
export type TypedCheck<Fields, UpdatedAt> = (
  context: TypedWriteContext<Fields, UpdatedAt>,
) => readonly TypedFault<FieldName<Fields>>[] | undefined
