/** Declared values as callers send them to an action, a query or a job. */

import type { FieldDeclaration } from '../fields/declared.ts'
import type { ItemDeclaration } from '../logic/logic.ts'
import type { Flat, OrNull } from './item.ts'

/** Null for an item that is optional. */
export type NoItem<V> = V extends { readonly optional: true } ? null : never

type MayBeOmitted<F> =
  F extends ItemDeclaration<string, true>
    ? true
    : F extends FieldDeclaration<unknown, infer O>
      ? O extends { readonly optional: true } | { readonly default: unknown }
        ? true
        : false
      : false

export type OmittableNames<Values> = {
  [K in keyof Values]: MayBeOmitted<Values[K]> extends true ? K : never
}[keyof Values]

/** A value as it is sent: an item by its id. */
type Sent<V> = V extends ItemDeclaration ? number | NoItem<V> : OrNull<V>
export type SentIn<Values> = Flat<
  { readonly [K in Exclude<keyof Values, OmittableNames<Values>>]: Sent<Values[K]> } & {
    readonly [K in OmittableNames<Values>]?: Sent<Values[K]>
  }
>
