/** Fields that are not stored: of inputs, outputs and subresources, and computed ones. They are validated and documented like stored fields. */
import type { FieldType } from './fields/field-type.ts'
import type { Field } from './model.ts'
import { anyoneRule } from './rule/rule.ts'

/** A required value without a default. */
export function plainField(name: string, type: FieldType, description?: string): Field {
  return {
    ...{ name, type, description, optional: false, default: undefined },
    ...{ unique: false, readOnly: false, writeOnly: false, immutable: false, internal: false },
    ...{ searchable: false, signUp: false, deprecated: undefined, renamedFrom: undefined },
    ...{ access: { read: anyoneRule, write: anyoneRule }, reference: undefined },
  }
}
