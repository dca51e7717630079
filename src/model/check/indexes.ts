/** Indexes: fields that exist, and none twice. */
import type { IndexDeclaration } from '../declaration.ts'
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

/** The indexes of a collection, checked. */
export function indexesOf(outline: Outline, faults: Faults): readonly Index[] {
  const { indexes = [] } = outline.options
  const place = `${outline.name}.indexes`
  if (!Array.isArray(indexes)) {
    faults.add(place, "Write a list: `indexes: [index('author_id')]`.")
    return []
  }
  const seen = new Set<string>()
  return (indexes as readonly IndexDeclaration[]).flatMap((index, at) => {
    if (!checkIndex(index, outline, `${place}[${at}]`, faults)) return []
    const key = index.fields.join()
    if (seen.has(key)) faults.add(`${place}[${at}]`, 'The same fields have an index already. Leave one out.')
    seen.add(key)
    return [{ fields: [...index.fields], unique: index.unique }]
  })
}
