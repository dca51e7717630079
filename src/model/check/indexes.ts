/** Checks indexes: their fields must exist, and no index may be redundant. */
import { isObject } from '../../base/json.ts'
import type { IndexDeclaration } from '../declaration.ts'
import { optionsOf } from '../fields/declared.ts'
import { orderText } from '../indexes.ts'
import type { Index, IndexKey } from '../model.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import type { Outline } from './outline.ts'

const maxIndexFields = 16

function keyOf(written: unknown): IndexKey {
  const text = String(written)
  return text.startsWith('-')
    ? { field: text.slice(1), descending: true }
    : { field: text, descending: false }
}

function checkIndexed(outline: Outline, name: string, place: string, faults: Faults): void {
  const field = outline.fields.get(name)
  if (!field && isStoredValue(outline, name)) return
  if (!field) {
    faults.add(
      place,
      `\`${outline.name}\` has no field \`${name}\`.${didYouMean(name, outline.fields.keys())}`,
    )
  } else if (!field.type.sortable) {
    faults.add(place, `\`${name}\` is a ${field.type.name} field, which has no order. Leave it out.`)
  }
}

/** Whether it is a computed field that is kept in a column. */
function isStoredValue({ options }: Outline, name: string): boolean {
  const declared: unknown = isObject(options.computed) ? options.computed[name] : undefined
  return isObject(declared) && isObject(declared.expression) && declared.expression.stored === true
}

function checkIndex(index: IndexDeclaration, outline: Outline, place: string, faults: Faults): boolean {
  if (index?.kind !== 'index' || !Array.isArray(index.fields)) {
    faults.add(place, "Write `index('author_id', '-created_at')` or `unique('slug')`.")
    return false
  }
  const keys = index.fields.map(keyOf)
  if (keys.length === 0) faults.add(place, 'An index needs a field.')
  if (keys.length > maxIndexFields) faults.add(place, `An index has at most ${maxIndexFields} fields.`)
  if (new Set(keys.map(key => key.field)).size < keys.length)
    faults.add(place, 'A field is named twice. Name it once.')
  for (const { field } of keys) checkIndexed(outline, field, place, faults)
  if (index.unique && keys.some(key => isStoredValue(outline, key.field)))
    faults.add(place, 'A stored value cannot be unique. Write `index(…)`.')
  if (index.unique) checkUndirected(keys, place, faults)
  else checkIdLast(keys, place, faults)
  return keys.length > 0
}

function checkUndirected(keys: readonly IndexKey[], place: string, faults: Faults): void {
  const directed = keys.find(key => key.descending)
  if (directed === undefined) return
  const names = keys.map(key => `'${key.field}'`).join(', ')
  faults.add(place, `A unique index has no direction. Write \`unique(${names})\`.`)
}

/** Ids are unique, so keys after `id` have no effect. */
function checkIdLast(keys: readonly IndexKey[], place: string, faults: Faults): void {
  const position = keys.findIndex(key => key.field === 'id')
  if (position < 0 || position === keys.length - 1) return
  faults.add(place, '`id` is unique, so the fields after it have no effect. Name it last, or leave it out.')
}

/** Sets of fields that are already unique: the id, unique fields, and earlier indexes. */
function uniqueSets(outline: Outline, earlier: readonly Index[]): readonly (readonly string[])[] {
  const singles = [...outline.fields].flatMap(([name, field]) =>
    name === 'id' || optionsOf(field).unique === true ? [[name]] : [],
  )
  return [...singles, ...earlier.filter(index => index.unique).map(namesOf)]
}

function namesOf({ keys }: Index): readonly string[] {
  return keys.map(key => key.field)
}

/** Reports an index that is redundant. */
function checkNeeded(
  index: Index,
  earlier: readonly Index[],
  outline: Outline,
  place: string,
  faults: Faults,
) {
  const { unique } = index
  const duplicate = earlier.find(other => orderText(other.keys) === orderText(index.keys))
  if (duplicate !== undefined) {
    const isReverse = index.keys[0]?.descending !== duplicate.keys[0]?.descending
    const reason = isReverse
      ? 'An index is read in both directions, and its exact reverse is already declared.'
      : 'The same fields already have an index.'
    faults.add(place, `${reason} Leave one out.`)
    return
  }
  const fields = namesOf(index)
  const uniqueSubset = uniqueSets(outline, earlier).find(set => set.every(name => fields.includes(name)))
  if (uniqueSubset === undefined) return
  const names = uniqueSubset.map(name => `\`${name}\``).join(' and ')
  const are = uniqueSubset.length > 1 ? 'are' : 'is'
  if (unique) {
    const alone = uniqueSubset.length === fields.length ? '' : ' alone'
    faults.add(place, `${names}${alone} ${are} already unique, so this index is redundant. Leave one out.`)
  } else if (fields.length === 1) {
    faults.add(place, `${names} is unique, so it already has an index. Leave this one out.`)
  }
}

export function indexesOf(outline: Outline, faults: Faults): readonly Index[] {
  const { indexes = [] } = outline.options
  const place = `${outline.name}.indexes`
  if (!Array.isArray(indexes)) {
    faults.add(place, "Write a list: `indexes: [index('author_id')]`.")
    return []
  }
  const checked: Index[] = []
  for (const [position, declared] of (indexes as readonly IndexDeclaration[]).entries()) {
    if (!checkIndex(declared, outline, `${place}[${position}]`, faults)) continue
    const index = { keys: declared.fields.map(keyOf), unique: declared.unique }
    checkNeeded(index, checked, outline, `${place}[${position}]`, faults)
    checked.push(index)
  }
  return checked
}
