import { declared, defaultOf, type FieldDeclaration, type FieldOptions, words } from './declared.ts'
import { integerType } from './integer.ts'
import type { Marker } from './marker.ts'

interface RelationOptions extends FieldOptions {
  readonly default?: number | Marker<'currentUser'>
  /** The relation's name; by default the field's without `_id`. */
  readonly as?: string
  /** The name of the way back on the target, e.g. `posts` on `users`. */
  readonly inverse?: string
  /**
   * What the deletion of the target does: it is refused (`restrict`, the default), deletes this item
   * too (`cascade`), or empties this field (`clear`).
   */
  readonly onDelete?: 'restrict' | 'cascade' | 'clear'
}

const ID_MAX = Number.MAX_SAFE_INTEGER

const relationType = integerType('relation', 1, ID_MAX, 'ID')

const ways = ['restrict', 'cascade', 'clear']

const onDelete = (value: unknown) =>
  ways.includes(String(value)) ? undefined : `Write one of ${ways.join(', ')}.`

/** Undefined for what `words` calls a fault. */
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The id of an item of the collection `target`. */
export function relation<const O extends RelationOptions>(
  target: string,
  options?: O,
): FieldDeclaration<number, O> {
  const mayBeUser = target === 'users' ? defaultOf('currentUser') : defaultOf()
  return declared({
    type: relationType,
    options,
    checks: { default: mayBeUser, as: words, inverse: words, onDelete },
    link: {
      target,
      as: textOf(options?.as),
      inverse: textOf(options?.inverse),
      onDelete: options?.onDelete ?? 'restrict',
    },
  })
}
