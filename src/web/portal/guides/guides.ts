/** The guides as pages, read from `docs/` of the package and rendered on the first request. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { packageFolder } from '../../../base/package-files.ts'
import type { Visitor } from '../../pages/frame/layout.ts'
import { type Guide, guidesFor, type ShownGuides } from './catalogue.ts'
import type { RenderedPage, ResolveLink } from './markdown.ts'

export interface GuidesOptions {
  readonly shown: ShownGuides
  /** The address of the service, for the examples. */
  readonly origin: () => string
}

export const guidesPath = '/docs/guides'
export const errorsPath = '/docs/errors'

/** The address in the examples of `docs/`, also with the scheme of WebSockets. */
const exampleOrigin = /(http|ws):\/\/localhost:3000/g

const folder = new URL('docs/', packageFolder)

function fileOf(slug: string): URL {
  return new URL(`${slug}.md`, folder)
}

/** The names of the files in `docs/`, each with its first heading. */
function readTitles(): ReadonlyMap<string, string> {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder)
    .filter(name => /^[\w-]+\.md$/.test(name))
    .sort()
  return new Map(
    names.map(name => {
      const slug = name.slice(0, -3)
      const [, title = slug] = /^# (.+)$/m.exec(readFileSync(fileOf(slug), 'utf8')) ?? []
      return [slug, title.replaceAll('`', '')]
    }),
  )
}

/** Files whose content has its own page. */
const otherPages: ReadonlyMap<string, string> = new Map([
  ['errors', errorsPath],
  ['README', guidesPath],
])

/** Resolves links between files of `docs/` to the pages that the visitor sees. */
function linkResolver(visibleSlugs: ReadonlySet<string>): ResolveLink {
  return href => {
    if (href.startsWith('#') || /^https?:\/\//.test(href)) return href
    const [, slug = '', hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
    const page = otherPages.get(slug) ?? (visibleSlugs.has(slug) ? `${guidesPath}/${slug}` : undefined)
    return page === undefined ? undefined : page + hash
  }
}

export class Guides {
  readonly #options: GuidesOptions
  #titles: ReadonlyMap<string, string> | undefined

  constructor(options: GuidesOptions) {
    this.#options = options
  }

  /** In the order of the navigation. */
  list(visitor: Visitor): readonly Guide[] {
    this.#titles ??= readTitles()
    return guidesFor(visitor, this.#options.shown, this.#titles)
  }

  async render(guide: Guide, visitor: Visitor): Promise<RenderedPage> {
    const { renderMarkdown } = await import('./markdown.ts')
    const visibleSlugs = new Set(this.list(visitor).map(({ slug }) => slug))
    const text = readFileSync(fileOf(guide.slug), 'utf8')
    const origin = this.#options.origin()
    const ownText = text.replaceAll(exampleOrigin, (_, scheme: string) => origin.replace(/^http/, scheme))
    return renderMarkdown(ownText, linkResolver(visibleSlugs))
  }
}
