/** What a plan's answer is made into: the tree of the reply's fields. */
import type { FieldNode } from 'graphql'
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection } from '../model/model.ts'

/** One key of a reply's object. */
export type Picked = {
  /** In the reply. */
  readonly key: string
  /** In the answer's object. */
  readonly source: string
  /** The keys that lead to it in the plan, as `Refusal` names them; undefined: it is not in the plan. */
  readonly at: string | undefined
  readonly nonNull: boolean
  /** The type and field, e.g. `Post.author`. */
  readonly name: string
  readonly nodes: readonly FieldNode[]
} & (
  | { readonly kind: 'leaf' }
  | { readonly kind: 'constant'; readonly value: string }
  /** `children` of an object, or of each object of a list. `target`: where a to-one relation leads to. */
  | {
      readonly kind: 'object' | 'list'
      readonly children: readonly Picked[]
      readonly reshape?: Reshape
      readonly target?: Collection
    }
)

/** Makes an answer's value into the one that is shown. `args`: the plan's. */
export type Reshape = (value: unknown, args: readonly JsonValue[]) => unknown

const SEPARATOR = '\0'

export function placeOf(keys: readonly string[]): string {
  return keys.join(SEPARATOR)
}

/** The place of a key within the object at `place`; undefined stands for the plan's top. */
export function within(place: string | undefined, key: string): string {
  return place === undefined ? key : place + SEPARATOR + key
}

/** Whether some field of the tree fulfils `test`. */
export function some(tree: readonly Picked[], test: (picked: Picked) => boolean): boolean {
  return tree.some(
    picked =>
      test(picked) || ((picked.kind === 'object' || picked.kind === 'list') && some(picked.children, test)),
  )
}

/** Looks at every field of the tree. */
export function every(tree: readonly Picked[], look: (picked: Picked) => void): void {
  some(tree, picked => {
    look(picked)
    return false
  })
}
