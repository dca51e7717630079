/** The options of a collection: known, and of the right kind. */
import type { CollectionOptions } from '../declaration.ts'
import { flag, type OptionCheck, type OptionChecks, optionFaults, words } from '../fields/declared.ts'
import type { Faults } from './faults.ts'

const record =
  (example: string): OptionCheck =>
  value =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : `Write \`${example}\`.`

const checkedElsewhere: OptionCheck = () => undefined

const collectionOptions: OptionChecks = {
  fields: checkedElsewhere,
  description: words,
  singular: words,
  updatedAt: flag,
  deprecated: record("{ since: '2026-01-31' }"),
  renamedFrom: words,
  relations: record('{ tags: manyToMany(…) }'),
  indexes: checkedElsewhere,
  access: record('{ read: anyone }'),
}

const operations: OptionChecks = Object.fromEntries(
  ['read', 'create', 'update', 'delete'].map(operation => [operation, checkedElsewhere]),
)

/** Says which options a collection does not have, or not so. */
export function checkCollectionOptions(options: CollectionOptions, place: string, faults: Faults): void {
  const wrong = [
    ...optionFaults(options, collectionOptions).map(fault => ({ ...fault, at: place })),
    ...optionFaults(options.access ?? {}, operations).map(fault => ({ ...fault, at: `${place}.access` })),
  ]
  for (const { at, option, message } of wrong) faults.add(option ? `${at}.${option}` : at, message)
}
