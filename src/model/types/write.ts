/** The arguments and results of `prepare` and `check`, typed by the fields of their collection. */
import type { JsonValue } from '../fields/type.ts'
import type { LogicCaller, WriteFault } from '../logic/logic.ts'
import type { Flat, StoredOf, TimesOf, UnpreparedOf } from './item.ts'

/** The stored row. */
export type StoredRow<Fields, UpdatedAt> = string extends keyof Fields
  ? Readonly<Record<string, JsonValue>>
  : Flat<{ readonly id: number } & StoredOf<Fields> & TimesOf<UpdatedAt>>

/** The item as it is about to be written. A create does not have an `id` yet. */
type NextItem<Fields, UpdatedAt, Values> = string extends keyof Fields
  ? Readonly<Record<string, JsonValue>>
  : Flat<Values & { readonly id?: number } & Partial<TimesOf<UpdatedAt>>>

/** The argument of `prepare` and `check`, typed by the fields of their collection. `Values`: of `next`. Deeply frozen. */
interface TypedWriteContext<Fields, UpdatedAt, Values> {
  readonly next: NextItem<Fields, UpdatedAt, Values>
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
  context: TypedWriteContext<Fields, UpdatedAt, UnpreparedOf<Fields>>,
) => Prepared<Fields> | undefined

/** The name is known only at run time: the compiler forgets it in lists that are built before they are returned. */
type RuntimeName = string & {}

/** The fields that faults may name, for inference. */
export type FaultField<Fields> = (keyof Fields & string) | RuntimeName

type KnownName<Fields, Name> = string extends Name | keyof Fields ? Name : Name & keyof Fields

export interface TypedFault<Fields, Name> extends Omit<WriteFault, 'field'> {
  readonly field?: (Name & NoInfer<KnownName<Fields, Name>>) | undefined
}

/** Returns the faults of an item that is about to be written. `Name`: the fields that they name. */
export type TypedCheck<Fields, UpdatedAt, Name> = (
  context: TypedWriteContext<Fields, UpdatedAt, StoredOf<Fields>>,
) => readonly TypedFault<Fields, Name>[] | undefined
