/** The search index: operations of the reference, sections of the guides, and errors. */
import { catalogue } from '../../base/errors.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Guide } from './guides/catalogue.ts'
import { errorsPath, guidesPath } from './guides/guides.ts'
import type { RenderedPage } from './guides/markdown.ts'
import { operationHref, operationsOf } from './reference.ts'

export interface SearchEntry {
  readonly title: string
  /** The part of the documentation, e.g. `REST · posts`. */
  readonly place: string
  readonly href: string
  readonly text: string
}

export function operationEntries(document: JsonSchema): readonly SearchEntry[] {
  return operationsOf(document).map(operation => {
    const { tag, method, path, summary, description } = operation
    return {
      title: summary,
      place: `REST · ${tag}`,
      href: operationHref(operation),
      text: `${method.toUpperCase()} ${path} ${description.replaceAll('`', '')}`,
    }
  })
}

export function guideEntries({ slug, title }: Guide, { sections }: RenderedPage): readonly SearchEntry[] {
  return sections.map(({ heading, text }) => ({
    title: heading?.text ?? title,
    place: `Guide · ${title}`,
    href: heading && heading.depth > 1 ? `${guidesPath}/${slug}#${heading.id}` : `${guidesPath}/${slug}`,
    text: text.trim(),
  }))
}

export function errorEntries(): readonly SearchEntry[] {
  return Object.entries(catalogue).map(([code, { message, hint }]) => ({
    title: code,
    place: 'Error',
    href: `${errorsPath}#${code}`,
    text: `${message} ${hint}`,
  }))
}
