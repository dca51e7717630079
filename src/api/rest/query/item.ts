/** The parameters of a request for one item → its selection. */

import { makePresentation } from '../reply/headers.ts'
import { type CollectionView, createForms, type ItemTemplate } from './collection-view.ts'
import { filledValue, parseQuery, unknownParameter } from './query-string.ts'
import { makeSelection } from './select.ts'

/** In characters. Longer queries are parsed each time. */
const maxCachedQueryLength = 400
export const itemParameters: readonly string[] = ['fields', 'include']

function makeTemplate(view: CollectionView, query: string): ItemTemplate {
  const parameters = parseQuery(query)
  for (const { name } of parameters) {
    if (!itemParameters.includes(name)) throw unknownParameter(name, itemParameters)
  }
  let includes = false
  const selection = makeSelection(
    view,
    filledValue(parameters, 'fields'),
    filledValue(parameters, 'include'),
    () => {
      includes = true
      return 1
    },
  )
  return {
    shape: { kind: 'item', collection: view.collection.name, id: 0, select: selection.select },
    presentation: makePresentation(selection.secret, selection.deprecations),
    deprecations: selection.deprecations,
    isDefault: selection.isDefault,
    includes,
    creates: createForms(),
  }
}

/**
 * The template for `fields` and `include`. Its arguments are the id, then `includedLimit`.
 * Throws BAD_REQUEST, naming the parameter.
 */
export function parseItem(view: CollectionView, query: string): ItemTemplate {
  const cached = view.items.get(query)
  if (cached) return cached
  const template = makeTemplate(view, query)
  if (query.length <= maxCachedQueryLength) view.items.set(query, template)
  return template
}
