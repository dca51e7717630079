/** JSON values as databases take them. */
import type { SQLInputValue } from 'node:sqlite'
import type { Encoding } from '../model/fields/encoding.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { claimTypeOf } from '../model/rule.ts'
import type { Claims } from '../principal.ts'
import type { Bind, Conversion } from './sql/writer.ts'

export type SqlValue = SQLInputValue

export type ResultRow = readonly SqlValue[]

/** The inputs of a statement, from which its parameters are bound. */
export interface Inputs {
  readonly args: readonly JsonValue[]
  readonly userId: number | null
  readonly slots: readonly SqlValue[]
  /** The value of `now`, in milliseconds since 1970. By default, the database's own clock. */
  readonly now?: number | undefined
  /** The claims of the caller's token. */
  readonly claims?: Claims | undefined
  /** On whose behalf PostgreSQL's row security policies are evaluated. Without it, they show no row. */
  readonly actor?: Actor | undefined
  /** By how much the transaction has already changed the number of items of a collection. */
  readonly grown?: (collection: string) => number
}

/** The values of the settings that policies read: see `postgres/row-security/`. */
export type Actor = readonly string[]

/** For Portico's own statements. */
export const service: Actor = ['on', '', '', '', '', '', '', '', '']

export const noSlots: readonly SqlValue[] = []
/** For Portico's own statements without parameters. */
export const noInputs: Inputs = { args: [], userId: null, slots: noSlots, actor: service }

/** For Portico's own statements whose only parameters are slots. */
export function slotted(slots: readonly SqlValue[]): Inputs {
  return { args: [], userId: null, slots, actor: service }
}

export function encoded(value: JsonValue | undefined, as: Conversion): SqlValue {
  return value === null || value === undefined ? null : as.encode(value)
}

/** The value of a statement's parameter. */
export function bound(bind: Bind, inputs: Inputs): SqlValue {
  const { args, userId, slots } = inputs
  switch (bind.from) {
    case 'arg':
      return encoded(args[bind.param], bind.as)
    case 'slot':
      return slots[bind.slot] ?? null
    case 'userId':
      return userId
    case 'constant':
      return encoded(bind.value, bind.as)
    case 'now':
      return inputs.now === undefined ? null : momentOf(inputs.now + bind.shiftMs, bind.as)
    case 'claim':
      return claimOf(inputs.claims?.values.get(bind.claim), bind.as)
  }
}

/** A time in the form in which the encoding stores it. */
function momentOf(ms: number, as: Encoding): SqlValue {
  return encoded(as.now?.(new Date(ms).toISOString()), as)
}

/** A claim whose value does not fit the field counts as missing. */
function claimOf(claim: string | number | boolean | undefined, as: Encoding): SqlValue {
  if (claim === undefined || typeof claim !== claimTypeOf(as)) return null
  return typeof claim === 'boolean' || as.isSortKey(claim) ? as.encode(claim) : null
}
