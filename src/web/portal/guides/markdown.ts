/** Markdown → HTML for the guides: with links between guides, ids of headings and highlighted code, without raw HTML. */
import { Marked, type Tokens } from 'marked'
import { attributes, escapeHtml, type Html, html, rendered } from '../../../base/html.ts'
import { highlight } from './highlight.ts'

export interface Heading {
  readonly id: string
  readonly text: string
  readonly depth: number
}

/** A heading with the text below it, for the search. */
export interface Section {
  readonly heading: Heading | undefined
  readonly text: string
}

export interface RenderedPage {
  readonly body: Html
  readonly headings: readonly Heading[]
  readonly sections: readonly Section[]
}

/** Returns the target of a link; undefined if the service has no such page, so that only its text is shown. */
export type ResolveLink = (href: string) => string | undefined

/** The id of a heading, as on GitHub. */
function headingId(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** The only HTML in the guides: an anchor. */
const anchor = /^<a id="([\w.-]{1,100})">$/

function link(href: string, title: string | null | undefined, content: string): string {
  return `<a${attributes({ href, title }).text}>${content}</a>`
}

/** The headings and sections that the parser collects. */
interface Outline {
  readonly headings: Heading[]
  readonly sections: { heading: Heading | undefined; text: string }[]
}

function parserWith(resolve: ResolveLink, { headings, sections }: Outline): Marked {
  return new Marked({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => {
        const [, id] = anchor.exec(text) ?? []
        if (id !== undefined) return `<a id="${id}">`
        return text === '</a>' ? text : escapeHtml(text)
      },
      heading({ tokens, depth, text }) {
        const plain = text.replaceAll('`', '')
        const heading = { id: headingId(plain), text: plain, depth }
        headings.push(heading)
        const content = this.parser.parseInline(tokens)
        return `<h${depth} id="${escapeHtml(heading.id)}">${content}</h${depth}>\n`
      },
      link({ href, title, tokens }) {
        const content = this.parser.parseInline(tokens)
        const target = resolve(href)
        return target === undefined ? content : link(target, title, content)
      },
      image: ({ text }) => escapeHtml(text),
      code: ({ text, lang = '' }) =>
        html`<pre tabindex="0"${attributes({ 'data-language': lang })}><code>${highlight(text, lang)}</code></pre>
`.text,
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: 'th' | 'td') =>
          `<tr>${cells.map(cell => this.tablecell({ ...cell, header: tag === 'th' })).join('')}</tr>`
        const rows = token.rows.map(cells => row(cells, 'td')).join('\n')
        const head = `<thead>${row(token.header, 'th')}</thead>`
        return `<div class="scrolled" tabindex="0"><table>${head}<tbody>${rows}</tbody></table></div>\n`
      },
    },
    walkTokens: token => collect(token as Tokens.Generic, sections),
  })
}

/** Collects the sections for the search: each heading with the text that follows it. */
function collect(token: Tokens.Generic, sections: Outline['sections']): void {
  if (token.type === 'heading') {
    const text = String(token['text']).replaceAll('`', '')
    sections.push({ heading: { id: headingId(text), text, depth: Number(token['depth']) }, text: '' })
    return
  }
  const last = sections.at(-1)
  if (last) last.text += plainText(token)
}

function plainText(token: Tokens.Generic): string {
  if (token.type === 'table') return [...token['header'], ...token['rows'].flat()].map(plainText).join('')
  // A loose item has paragraphs of its own; a cell of a table has no type.
  const hasText = token.type === 'paragraph' || token.type === undefined || isTight(token)
  if (!hasText) return ''
  const plain = String(token['text']).replaceAll(/\]\([^)]*\)|[`*[\]]|<[^>]*>/g, '')
  return `${plain.replaceAll(/\s+/g, ' ')} `
}

function isTight(token: Tokens.Generic): boolean {
  return token.type === 'list_item' && token['loose'] === false
}

/** `markdown`: a file of `docs/`. HTML in it is shown as text. */
export function renderMarkdown(markdown: string, resolve: ResolveLink): RenderedPage {
  const outline: Outline = { headings: [], sections: [] }
  const body = parserWith(resolve, outline).parse(markdown, { async: false })
  return { body: rendered(body), ...outline }
}
