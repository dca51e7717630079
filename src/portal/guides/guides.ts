/** The guides as pages: read from `docs/` of the package and rendered when they are first asked for. */
import { existsSync, readFileSync } from 'node:fs'
import type { Visitor } from '../frame.ts'
import { type Guide, guidesFor, type ShownGuides } from './catalogue.ts'
import type { RenderedPage, ResolveLink } from './markdown.ts'

export interface GuidesOptions {
  readonly shown: ShownGuides
  /** The address of the service, which stands in the examples. */
  readonly origin: () => string
}

export const guidesPath = '/docs/guides'
export const errorsPath = '/docs/errors'

/** The address in the examples of `docs/`. */
const exampleOrigin = 'http://localhost:3000'

const folder = new URL('../../../docs/', import.meta.url)

function fileOf(slug: string): URL {
  return new URL(`${slug}.md`, folder)
}

/** Files whose content has a page of its own here. */
const otherPages: ReadonlyMap<string, string> = new Map([
  ['errors', errorsPath],
  ['README', guidesPath],
])

/** Leads from one file of `docs/` to the pages that the visitor sees. */
function linksBetween(seen: ReadonlySet<string>): ResolveLink {
  return href => {
    if (href.startsWith('#') || /^https?:\/\//.test(href)) return href
    const [, slug = '', hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
    const page = otherPages.get(slug) ?? (seen.has(slug) ? `${guidesPath}/${slug}` : undefined)
    return page === undefined ? undefined : page + hash
  }
}

export class Guides {
  readonly #options: GuidesOptions

  constructor(options: GuidesOptions) {
    this.#options = options
  }

  /** In the order of the navigation. */
  list(visitor: Visitor): readonly Guide[] {
    return guidesFor(visitor, this.#options.shown, slug => existsSync(fileOf(slug)))
  }

  async render(guide: Guide, visitor: Visitor): Promise<RenderedPage> {
    const { renderMarkdown } = await import('./markdown.ts')
    const seen = new Set(this.list(visitor).map(({ slug }) => slug))
    const text = readFileSync(fileOf(guide.slug), 'utf8')
    return renderMarkdown(text.replaceAll(exampleOrigin, this.#options.origin()), linksBetween(seen))
  }
}
