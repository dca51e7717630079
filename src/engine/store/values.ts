/** JSON values as databases take them. */

import type { SQLInputValue } from 'node:sqlite'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Principal } from '../../base/principal.ts'
import type { Encoding } from '../../model/fields/encoding.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { claimTypeOf } from '../../model/rule/rule.ts'
import type { AnswerBound } from '../plan/answer-bound.ts'
import type { Bind, Conversion } from './sql/writer.ts'

export type SqlValue = SQLInputValue

export type ResultRow = readonly SqlValue[]
export type ResultRows = readonly ResultRow[]

/** The inputs of a statement, from which its parameters are bound. */
export interface Inputs {
  readonly args: readonly JsonValue[]
  readonly userId: number | null
  readonly slots: readonly SqlValue[]
  /** The value of `now`. By default, the database's own clock. */
  readonly now?: EpochMs | undefined
  /** What conditions may ask of the caller besides the user. */
  readonly caller?: Pick<Principal, 'claims' | 'app'> | undefined
  /** On whose behalf PostgreSQL's row security policies are evaluated. Without it, they show no row. */
  readonly actor?: Actor | undefined
  /** The total of the list, if it is known. It may be an estimate. */
  readonly total?: number | undefined
  /** The maximum size of the answer. Omitted, for Portico's own reads: any size. */
  readonly answerBound?: AnswerBound | undefined
  /** By how much the transaction has already changed the number of items of a collection. */
  readonly grown?: (collection: string) => number
}

/** The values of the settings that policies read: see `postgres/row-security/`. */
export type Actor = readonly string[]

/** For Portico's own statements. */
export const serviceActor: Actor = ['on', '', '', '', '', '', '', '', '', '']

export const noSlots: readonly SqlValue[] = []
/** For Portico's own statements without parameters. */
export const noInputs: Inputs = { args: [], userId: null, slots: noSlots, actor: serviceActor }

/** For Portico's own statements whose only parameters are slots. */
export function slotInputs(slots: readonly SqlValue[]): Inputs {
  return { args: [], userId: null, slots, actor: serviceActor }
}

export function encode(value: JsonValue | undefined, conversion: Conversion): SqlValue {
  return value === null || value === undefined ? null : conversion.encode(value)
}

/** The value of a statement's parameter. */
export function parameterValue(bind: Bind, inputs: Inputs): SqlValue {
  const { args, userId, slots } = inputs
  switch (bind.from) {
    case 'arg':
      return encode(args[bind.param], bind.as)
    case 'slot':
      return slots[bind.slot] ?? null
    case 'userId':
      return userId
    case 'appId':
      return inputs.caller?.app?.id ?? null
    case 'answerBytes':
      return inputs.answerBound?.leftBytes ?? null
    case 'total':
      return inputs.total ?? null
    case 'constant':
      return encode(bind.value, bind.as)
    case 'now':
      return inputs.now === undefined ? null : encodedTime(inputs.now + bind.shiftMs, bind.as)
    case 'claim':
      return claimOf(inputs.caller?.claims?.values.get(bind.claim), bind.as)
  }
}

/** A time in the form in which the encoding stores it. */
function encodedTime(ms: number, encoding: Encoding): SqlValue {
  return encode(encoding.now?.(new Date(ms).toISOString()), encoding)
}

/** A claim whose value does not fit the field counts as missing. */
function claimOf(claim: string | number | boolean | undefined, encoding: Encoding): SqlValue {
  if (claim === undefined || typeof claim !== claimTypeOf(encoding)) return null
  return typeof claim === 'boolean' || encoding.isSortKey(claim) ? encoding.encode(claim) : null
}
