/** The fields of `users` that users may read and write on their own profile. */

import type { AccessClass } from '../../../base/principal.ts'
import { namesFor, staticRule } from '../../../engine/plan/guard/guard.ts'
import { formTypes } from '../../../model/fields/field-type.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field, Model } from '../../../model/model.ts'
import { type EnteredField, labelOf } from '../sign-up/sign-up-fields.ts'

/** Fields that the page shows separately, or that users do not write. */
const separateFields: ReadonlySet<string> = new Set(['name', 'email', 'role', 'disabled', 'password_hash'])

/** One-line fields and choices, in the order of the model. Documents, lists and relations can be written by programs only. */
export function profileFields(model: Model, access: AccessClass): readonly EnteredField[] {
  const users = model.collections.get('users')
  if (!users) return []
  const isEditable = (field: Field) =>
    !field.readOnly &&
    !field.immutable &&
    !field.internal &&
    field.reference === undefined &&
    formTypes.has(field.type.schema.type) &&
    staticRule(model, users, field.access.write, access) !== 'never'
  return [...namesFor(model, users, access).fields.values()]
    .filter(field => !separateFields.has(field.name) && isEditable(field))
    .map(field => ({ name: field.name, label: labelOf(field), field }))
}

/** A stored value as the text of a form. */
export function textOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined || value === false) return ''
  return value === true ? 'yes' : String(value)
}
