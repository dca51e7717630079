/** Indexes: fields that exist, and none twice. */
import type { IndexDeclaration } from '../declaration.ts'
import { optionsOf } from '../fields/declared.ts'
import type { Index } from '../model.ts'
import { didYouMean } from '../nearest.ts'
import type { Faults } from './faults.ts'
import type { Outline } from './outline.ts'

const MOST_FIELDS = 16

function checkIndexed(outline: Outline, name: string, place: string, faults: Faults): void {
  const field = outline.fields.get(name)
  if (!field) {
    faults.add(
      place,
      `\`${outline.name}\` has no field \`${name}\`.${didYouMean(String(name), outline.fields.keys())}`,
    )
  } else if (!field.type.sortable) {
    faults.add(place, `\`${name}\` is a ${field.type.name} field, which has no order. Leave it out.`)
  }
}

function checkIndex(index: IndexDeclaration, outline: Outline, place: string, faults: Faults): boolean {
  if (index?.kind !== 'index' || !Array.isArray(index.fields)) {
    faults.add(place, "Write `index('author_id', 'created_at')` or `unique('slug')`.")
    return false
  }
  const { fields } = index
  if (fields.length === 0) faults.add(place, 'An index needs a field.')
  if (fields.length > MOST_FIELDS) faults.add(place, `An index has at most ${MOST_FIELDS} fields.`)
  if (new Set(fields).size < fields.length) faults.add(place, 'A field is named twice. Name it once.')
  for (const name of fields) checkIndexed(outline, name, place, faults)
  return true
}

/** The sets of fields that are unique by themselves: the id, unique fields, and earlier indexes. */
function uniqueSets(outline: Outline, earlier: readonly Index[]): readonly (readonly string[])[] {
  const alone = [...outline.fields].flatMap(([name, field]) =>
    name === 'id' || optionsOf(field).unique === true ? [[name]] : [],
  )
  return [...alone, ...earlier.filter(index => index.unique).map(index => index.fields)]
}

/** Says which index adds nothing to what is there, or contradicts it. */
function checkNeeded(
  index: Index,
  earlier: readonly Index[],
  outline: Outline,
  place: string,
  faults: Faults,
) {
  const { fields, unique } = index
  if (earlier.some(other => other.fields.join() === fields.join())) {
    faults.add(place, 'The same fields have an index already. Leave one out.')
    return
  }
  const within = uniqueSets(outline, earlier).find(set => set.every(name => fields.includes(name)))
  if (within === undefined) return
  const names = within.map(name => `\`${name}\``).join(' and ')
  const are = within.length > 1 ? 'are' : 'is'
  if (unique) {
    const already = within.length === fields.length ? '' : ' alone'
    faults.add(place, `${names}${already} ${are} unique already, so this says nothing more. Leave one out.`)
  } else if (fields.length === 1) {
    faults.add(place, `${names} is unique, which makes an index already. Leave this one out.`)
  }
}

/** The indexes of a collection, checked. */
export function indexesOf(outline: Outline, faults: Faults): readonly Index[] {
  const { indexes = [] } = outline.options
  const place = `${outline.name}.indexes`
  if (!Array.isArray(indexes)) {
    faults.add(place, "Write a list: `indexes: [index('author_id')]`.")
    return []
  }
  const checked: Index[] = []
  for (const [at, declared] of (indexes as readonly IndexDeclaration[]).entries()) {
    if (!checkIndex(declared, outline, `${place}[${at}]`, faults)) continue
    const index = { fields: [...declared.fields], unique: declared.unique }
    checkNeeded(index, checked, outline, `${place}[${at}]`, faults)
    checked.push(index)
  }
  return checked
}
