/** The fields with `signUp: true`, which a sign-up asks for besides name and address. */

import type { Text } from '../../../base/html.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { listShape, readFirst, where } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field, Model } from '../../../model/model.ts'
import { t } from '../../mail/page-texts.ts'

/** A field of `users` in a form. */
export interface EnteredField {
  /** The field's name in the model. */
  readonly name: string
  readonly label: string
  readonly field: Field
}

/** `company_name` → `Company name`. */
export function readableName(name: string): string {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The label of a field in forms. */
export function labelOf({ name, description }: Pick<Field, 'name' | 'description'>): string {
  return description ?? readableName(name)
}

/** The fields that a sign-up asks for, in the order of the model. */
export function signUpFields(model: Pick<Model, 'collections'>): readonly EnteredField[] {
  const fields = [...(model.collections.get('users')?.fields.values() ?? [])]
  return fields
    .filter(({ signUp }) => signUp)
    .map(field => ({ name: field.name, label: labelOf(field), field }))
}

/**
 * The entered texts as values. A text that is not a valid value is passed on, so that the model reports it. `mayBeEmpty`:
 * whether a field may be left empty, so that its value is null.
 */
export function valuesOf(
  fields: readonly EnteredField[],
  answers: ReadonlyMap<string, string>,
  mayBeEmpty: (field: Field) => boolean = () => false,
) {
  const values: Record<string, JsonValue> = {}
  const missing = new Map<string, Text>()
  for (const { name, label, field } of fields) {
    const text = answers.get(name)?.trim() ?? ''
    if (field.type.schema.type === 'boolean') values[name] = text !== ''
    else if (text !== '') values[name] = field.type.fromText(text) ?? text
    else if (mayBeEmpty(field)) values[name] = null
    else missing.set(name, t('{label} is required.', { label }))
  }
  return { values, missing }
}

interface TakenParts {
  readonly model: Model
  readonly run: Run
}

/** The faults of unique values that another account has already, for an account that is created only when its link is opened. */
export async function takenValueFaults(
  { model, run }: TakenParts,
  values: Readonly<Record<string, JsonValue>>,
): Promise<ReadonlyMap<string, Text>> {
  const faults = new Map<string, Text>()
  for (const { name, label, field } of signUpFields(model)) {
    const value = values[name]
    if (!field.unique || value === undefined) continue
    if (await readFirst(run, listShape('users', ['id'], where(name)), value))
      faults.set(name, t('{label} is already taken.', { label }))
  }
  return faults
}
