/** JSON values as databases take them. */
import type { SQLInputValue } from 'node:sqlite'
import type { Encoding } from '../model/fields/encoding.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { claimTypeOf } from '../model/rule.ts'
import type { Claims } from '../principal.ts'
import type { Bind, Conversion } from './sql/writer.ts'

export type SqlValue = SQLInputValue

export type ResultRow = readonly SqlValue[]

/** What a statement is run with. */
export interface Inputs {
  readonly args: readonly JsonValue[]
  readonly userId: number | null
  readonly slots: readonly SqlValue[]
  /** What `now` stands for, in milliseconds since 1970; left out: the database's own clock. */
  readonly now?: number | undefined
  /** Of the caller's token. */
  readonly claims?: Claims | undefined
  /** Where PostgreSQL's policies lock the rows: on whose behalf. Nobody, who sees none, where it is left out. */
  readonly actor?: Actor | undefined
  /** Within a transaction of several steps: by how much it has changed the number of items of collections. */
  readonly grown?: (collection: string) => number
}

/** The values of the settings that policies read: see `postgres/security.ts`. */
export type Actor = readonly string[]

/** Of what Portico does by itself. */
export const service: Actor = ['on', '', '', '', '', '', '', '', '']

export const noSlots: readonly SqlValue[] = []
/** For what Portico asks by itself. */
export const noInputs: Inputs = { args: [], userId: null, slots: noSlots, actor: service }

/** The same, for a statement that has no other parameters. */
export function slotted(slots: readonly SqlValue[]): Inputs {
  return { args: [], userId: null, slots, actor: service }
}

export function encoded(value: JsonValue | undefined, as: Conversion): SqlValue {
  return value === null || value === undefined ? null : as.encode(value)
}

/** What a statement's parameter is bound to. */
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

/** A time as fields of the encoding hold it. */
function momentOf(ms: number, as: Encoding): SqlValue {
  return encoded(as.now?.(new Date(ms).toISOString()), as)
}

/** What is no value of the field is as good as missing. */
function claimOf(claim: string | number | boolean | undefined, as: Encoding): SqlValue {
  if (claim === undefined || typeof claim !== claimTypeOf(as)) return null
  return typeof claim === 'boolean' || as.isSortKey(claim) ? as.encode(claim) : null
}
