/** Checks the values of operations and events: fields and items. */

import { isObject } from '../../base/json.ts'
import { type FieldDeclaration, optionsOf } from '../fields/declared.ts'
import type { ItemDeclaration, ValueDeclarations } from '../logic/logic.ts'
import type { Field, OperationValue } from '../model.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import { checkedField } from './fields.ts'
import { checkFieldName } from './names.ts'
import { bareOutline, type Outlines } from './outline.ts'
import type { RuleCheck } from './rules.ts'

export interface OperationCheckContext {
  readonly outlines: Outlines
  readonly rules: RuleCheck
  readonly faults: Faults
}

export function isItem(value: unknown): value is ItemDeclaration {
  return isObject(value) && value.kind === 'item'
}

export function operationValuesOf(
  place: string,
  declared: ValueDeclarations | undefined,
  context: OperationCheckContext,
): ReadonlyMap<string, OperationValue> {
  const { faults } = context
  const values = new Map<string, OperationValue>()
  for (const [name, value] of Object.entries(declared ?? {})) {
    const valuePlace = `${place}.${name}`
    checkFieldName(name, valuePlace, faults)
    if (isItem(value)) {
      const { collection, optional } = value
      requireCollection(value, valuePlace, context)
      values.set(name, { kind: 'item', name, collection, optional: optional === true })
      continue
    }
    const field = valueField(place, name, value, context)
    if (field) values.set(name, { kind: 'field', field })
  }
  return values
}

/** Values do not belong to a collection, so `item` takes the place of a relation. */
export function valueField(
  place: string,
  name: string,
  declared: FieldDeclaration,
  { rules, faults }: OperationCheckContext,
): Field | undefined {
  const valuePlace = `${place}.${name}`
  if (!isObject(declared) || declared.kind !== 'field') {
    faults.add(valuePlace, "This is neither a field nor an item. Write e.g. `text()` or `item('projects')`.")
    return undefined
  }
  if (declared.link !== undefined) {
    faults.add(valuePlace, "An item is given by `item('projects')`, not by a relation.")
    return undefined
  }
  if (optionsOf(declared).access !== undefined) {
    faults.add(`${valuePlace}.access`, 'A value has no rules of its own. Leave it out.')
  }
  return checkedField(name, declared, bareOutline(place, { [name]: declared }), rules, faults)
}

export function requireCollection(
  { collection }: ItemDeclaration,
  place: string,
  { outlines, faults }: OperationCheckContext,
) {
  if (outlines.has(collection)) return
  faults.add(
    place,
    `There is no collection \`${collection}\`.${didYouMean(String(collection), outlines.keys())}`,
  )
}
