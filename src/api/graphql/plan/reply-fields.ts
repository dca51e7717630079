/** The fields of a reply, as a tree: how the answer of a plan becomes the reply. */
import type { FieldNode } from 'graphql'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'

export type ReplyField = {
  /** Its key in the reply. */
  readonly key: string
  /** Its key in the answer's object. */
  readonly source: string
  /** Its place in the plan, as in `Refusal`; undefined for a field that is not in the plan. */
  readonly place: string | undefined
  readonly nonNull: boolean
  /** Its type and name, e.g. `Post.author`. */
  readonly name: string
  readonly nodes: readonly FieldNode[]
} & (
  | { readonly kind: 'leaf' }
  | { readonly kind: 'constant'; readonly value: string }
  /** `children`: of the object, or of each object of the list. `target`: of a to-one relation. */
  | {
      readonly kind: 'object' | 'list'
      readonly children: readonly ReplyField[]
      readonly reshape?: Reshape
      readonly target?: Collection
    }
)

/** Turns a value of the answer into the value of the reply. `args`: the arguments of the plan. */
export type Reshape = (value: unknown, args: readonly JsonValue[]) => unknown

const separator = '\0'

export function placeOf(keys: readonly string[]): string {
  return keys.join(separator)
}

/** The place of a key in the object at `place`; undefined stands for the top of the plan. */
export function placeWithin(place: string | undefined, key: string): string {
  return place === undefined ? key : place + separator + key
}

/** The key of a value that only the reply to a create reveals. No alias can equal it. */
export function revealedKey(name: string): string {
  return `revealed:${name}`
}

/** Whether `test` returns true for any field of the tree. */
export function someField(tree: readonly ReplyField[], test: (field: ReplyField) => boolean): boolean {
  return tree.some(
    field =>
      test(field) || ((field.kind === 'object' || field.kind === 'list') && someField(field.children, test)),
  )
}

export function forEachField(tree: readonly ReplyField[], visit: (field: ReplyField) => void): void {
  someField(tree, field => {
    visit(field)
    return false
  })
}
