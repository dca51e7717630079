/** `/` and everything under `/docs`: reference, guides and errors. Nothing is loaded from other hosts. */
import { readFileSync } from 'node:fs'
import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { acceptsJson, acceptsPage } from '../../base/media-ranges.ts'
import {
  consolePolicy,
  packageFile,
  type StaticAsset,
  type StaticAssetsOptions,
  serveStatic,
} from '../../base/static-assets.ts'
import type { PageLanguage } from '../../identity/mail/page-texts.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { linksDocument } from '../pages/frame/destinations.ts'
import { assetsPath, type FrameOptions, type Page, renderPage, type Visitor } from '../pages/frame/layout.ts'
import { stylesheet, toolStylesheet } from '../pages/frame/stylesheet.ts'
import { errorsPage } from './errors-page.ts'
import type { ShownGuides } from './guides/catalogue.ts'
import { errorsPath, Guides, guidesPath } from './guides/guides.ts'
import { guidePage, guidesPage } from './guides/pages.ts'
import { docsPage, homePage } from './home.ts'
import { documentPath, referencePage, referencePath } from './reference.ts'
import { renderer } from './renderer.ts'
import { errorEntries, guideEntries, operationEntries } from './search-index.ts'

export interface PortalOptions {
  readonly frame: Omit<FrameOptions, 'guides'>
  readonly model: Model
  /** The OpenAPI document with samples and examples. */
  readonly document: () => JsonSchema
  readonly guides: ShownGuides
  /** The public address, which the OpenAPI document names; undefined: the address that the client uses. */
  readonly baseUrl: string | undefined
  /** An address of the service, without a trailing slash. */
  readonly origin: () => string
  /** The visitor who sent the call, by the session of the browser. */
  readonly visitorOf: (call: Call) => Awaitable<Visitor>
  /** The language of the visitor. */
  readonly languageOf: (call: Call) => Awaitable<PageLanguage>
}

export type Portal = (call: Call) => Awaitable<Reply>

/** Pages of a new version or theme soon have their new sheet. */
const assetMaxAgeSeconds = 300

function assetFile(name: string): () => string {
  return () => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
}

/** Sample requests go to the server that the document names, whose origin may differ from the page's. */
function policy({ baseUrl, frame }: PortalOptions): string {
  const originOf = (url: string | undefined) => (url === undefined ? [] : [new URL(url).origin])
  return consolePolicy({ connect: originOf(baseUrl), images: originOf(frame.theme.logo) })
}

/** Assets that are the same for every visitor. */
function commonAssets({ frame, document }: PortalOptions): [string, StaticAsset][] {
  const asset = (
    name: string,
    type: StaticAsset['type'],
    read: StaticAsset['read'],
  ): [string, StaticAsset] => [assetsPath + name, { type, read, maxAgeSeconds: assetMaxAgeSeconds }]
  return [
    asset('style.css', 'css', () => stylesheet(frame.theme)),
    asset('tool.css', 'css', () => toolStylesheet(frame.theme)),
    asset('reference.css', 'css', assetFile('reference.css')),
    asset('frame.js', 'script', assetFile('frame.js')),
    asset('reference.js', 'script', assetFile('reference.js')),
    asset('scalar.js', 'script', packageFile(renderer)),
    [documentPath, { type: 'json', read: () => JSON.stringify(document()), maxAgeSeconds: 0 }],
  ]
}

class Pages {
  readonly #options: PortalOptions
  readonly #guides: Guides
  readonly #frame: FrameOptions

  constructor(options: PortalOptions) {
    this.#options = options
    this.#guides = new Guides({ shown: options.guides, origin: options.origin })
    this.#frame = { ...options.frame, guides: options.guides !== 'none' }
  }

  /** The pages that a visitor sees, by path. */
  forVisitor(visitor: Visitor, language: PageLanguage): ReadonlyMap<string, StaticAsset> {
    const { model, origin, document } = this.#options
    const frame = this.#frame
    const guides = this.#guides.list(visitor)
    const page = (path: string, make: () => Awaitable<Page>): [string, StaticAsset] => {
      const read = () => then(make(), content => renderPage(frame, content, language))
      const varies = path === '/' ? 'Accept-Language, Accept' : 'Accept-Language'
      return [path, { type: 'html', read, maxAgeSeconds: 0, personal: true, varies }]
    }
    return new Map([
      page('/', () => homePage(frame, visitor)),
      page('/docs', () =>
        docsPage({ frame, model, origin: origin(), document: document(), guides, visitor }),
      ),
      page(referencePath, () => referencePage(visitor)),
      page(errorsPath, () => errorsPage(guides, visitor)),
      ...(frame.guides ? [page(guidesPath, () => guidesPage(guides, visitor))] : []),
      ...guides.map(guide =>
        page(`${guidesPath}/${guide.slug}`, async () =>
          guidePage(guide, await this.#guides.render(guide, visitor), guides, visitor),
        ),
      ),
      [
        '/docs/search.json',
        { type: 'json', read: () => this.#index(visitor), maxAgeSeconds: 0, personal: true },
      ],
    ])
  }

  /** The JSON form of `/`. */
  links(): StaticAsset {
    const { name } = this.#frame.theme
    return { type: 'json', read: () => linksDocument(name, this.#frame), maxAgeSeconds: 0, varies: 'Accept' }
  }

  async #index(visitor: Visitor): Promise<string> {
    const guides = this.#guides.list(visitor)
    const entries = await Promise.all(
      guides.map(async guide => guideEntries(guide, await this.#guides.render(guide, visitor))),
    )
    return JSON.stringify([
      ...operationEntries(this.#options.document()),
      ...entries.flat(),
      ...errorEntries(),
    ])
  }
}

/** Whether the client accepts JSON, but not HTML. */
function wantsLinks({ headers: { accept } }: Call): boolean {
  return acceptsJson(accept) && !acceptsPage(accept)
}

/** Answers `/` and the paths of `/docs`. Throws NOT_FOUND for every other path. */
export function createPortal(options: PortalOptions): Portal {
  const shared: Pick<StaticAssetsOptions, 'policy'> = { policy: policy(options) }
  const common = new Map(commonAssets(options))
  const answerCommon = serveStatic({ ...shared, assets: common })
  const pages = new Pages(options)
  const answerLinks = serveStatic({ assets: new Map([['/', pages.links()]]) })
  const portals = new Map<string, Portal>()
  const portalFor = (visitor: Visitor, language: PageLanguage): Portal => {
    const key = `${visitor} ${language.language}`
    const portal = portals.get(key) ?? serveStatic({ ...shared, assets: pages.forVisitor(visitor, language) })
    portals.set(key, portal)
    return portal
  }
  return call => {
    if (common.has(call.path)) return answerCommon(call)
    if (call.path === '/' && wantsLinks(call)) return answerLinks(call)
    return then(options.visitorOf(call), visitor =>
      then(options.languageOf(call), language => portalFor(visitor, language)(call)),
    )
  }
}
