/** Checks the options of a collection. */

import { isObject } from '../../base/json.ts'
import type { CollectionOptions } from '../declaration.ts'
import { flag, nonEmptyText, type OptionCheck, type OptionChecks, optionFaults } from '../fields/declared.ts'
import type { Faults } from './faults.ts'

const record =
  (example: string): OptionCheck =>
  value =>
    isObject(value) ? undefined : `Write \`${example}\`.`

const checkedElsewhere: OptionCheck = () => undefined

const collectionOptions: OptionChecks = {
  fields: checkedElsewhere,
  description: nonEmptyText,
  singular: nonEmptyText,
  updatedAt: flag,
  deprecated: record("{ since: '2026-01-31' }"),
  renamedFrom: nonEmptyText,
  relations: record('{ tags: manyToMany(…) }'),
  indexes: checkedElsewhere,
  access: record('{ read: anyone }'),
  computed: record("{ open_tasks: count('tasks') }"),
  prepare: checkedElsewhere,
  check: checkedElsewhere,
  limits: checkedElsewhere,
  personal: flag,
}

const operations: OptionChecks = Object.fromEntries(
  ['read', 'create', 'update', 'delete'].map(operation => [operation, checkedElsewhere]),
)

export function checkCollectionOptions(options: CollectionOptions, place: string, faults: Faults): void {
  const optionsWithFaults = [
    ...optionFaults(options, collectionOptions).map(fault => ({ ...fault, parent: place })),
    ...optionFaults(options.access ?? {}, operations).map(fault => ({ ...fault, parent: `${place}.access` })),
  ]
  for (const { parent, option, message } of optionsWithFaults) {
    faults.add(option ? `${parent}.${option}` : parent, message)
  }
}
