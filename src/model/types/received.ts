/** Declared values as an operation receives them, and as its callers receive its result. `C`: the model's collections. */

import type { ItemDeclaration } from '../logic/logic.ts'
import type { Flat, OrNull } from './item.ts'
import type { ItemIn } from './model.ts'
import type { NoItem } from './sent.ts'

/** An item as the reader may read it; an omitted value has its default, or is null. */
type Received<C, V> = V extends ItemDeclaration<infer N> ? ItemIn<C, N> | NoItem<V> : OrNull<V>
export type ReceivedIn<C, Values> = { readonly [K in keyof Values]: Received<C, Values[K]> }

/** The result that callers receive. */
export type OutputIn<C, Output> = [Output] extends [undefined]
  ? // biome-ignore lint/suspicious/noConfusingVoidType: nothing is returned.
    void
  : Output extends ItemDeclaration
    ? Received<C, Output>
    : Flat<ReceivedIn<C, Output>>
