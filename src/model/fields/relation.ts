import {
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  flag,
  nonEmptyText,
  type ReferenceTrait,
} from './declared.ts'
import { idType } from './integer.ts'
import type { Marker, MarkerName } from './marker.ts'

interface RelationOptions extends FieldOptions {
  readonly default?: number | Marker<'currentUser'> | Marker<'currentApp'>
  /** The relation's name; by default the field's without `_id`. */
  readonly as?: string
  /** The name of the inverse relation on the target, e.g. `posts` on `users`. */
  readonly inverse?: string
  /**
   * What happens when the target is deleted: the deletion is refused (`restrict`, the default), this item is deleted
   * too (`cascade`, the default with `personal: true`), or this field becomes null (`clear`, always if the target is
   * `oauth_apps`).
   */
  readonly onDelete?: 'restrict' | 'cascade' | 'clear'
  /**
   * Whether the item belongs to the person whom the field names, or to whom the target item belongs: it is in the copy of
   * their data, and their deletion does with it what `onDelete` says. False: it does not, whatever rules and defaults say.
   */
  readonly personal?: boolean
}

const relationType = idType('relation')

const deletionEffects = ['restrict', 'cascade', 'clear']

const onDelete = (value: unknown) =>
  deletionEffects.includes(String(value)) ? undefined : `Write one of ${deletionEffects.join(', ')}.`

function defaultMarkers(target: string): readonly MarkerName[] {
  if (target === 'users') return ['currentUser']
  return target === 'oauth_apps' ? ['currentApp'] : []
}

/** `checks` reports a value that is not a text. */
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The id of an item of the collection `target`. */
export function relation<const T extends string, const O extends RelationOptions>(
  target: T,
  options?: O,
): FieldDeclaration<number, O, ReferenceTrait<T>> {
  return declared({
    type: relationType,
    options,
    checks: {
      default: defaultOf(...defaultMarkers(target)),
      as: nonEmptyText,
      inverse: nonEmptyText,
      onDelete,
      personal: flag,
    },
    link: {
      target,
      as: textOf(options?.as),
      inverse: textOf(options?.inverse),
      onDelete: options?.onDelete ?? (target === 'oauth_apps' ? 'clear' : undefined),
      personal: options?.personal,
    },
  })
}
