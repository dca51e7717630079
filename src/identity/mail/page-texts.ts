/**
 * The texts of pages. As with gettext, the English text names itself: code says `t('Sign in')`, and `de-pages.ts` has the
 * German for it. A text is written when its page is rendered.
 *
 * `{name}` is a value; `code` in backticks, **bold** and [links](/account) to own pages are markup.
 */
import { html, Message, type Part, plainText, type Text } from '../../base/html.ts'
import { itemsInWords } from '../../model/words.ts'
import { de } from './de-pages.ts'

export type PageText = keyof typeof de

/** The texts that a language has, by the English ones. */
export type PageTexts = Readonly<Partial<Record<PageText, string>>>

/** What a page is written in. */
export interface PageLanguage {
  /** BCP 47. */
  readonly language: string
  readonly texts: PageTexts
}

export const english: PageLanguage = { language: 'en', texts: {} }

/** English dates are British: the day precedes the month. */
function localeOf({ language }: PageLanguage): string {
  return language === 'en' ? 'en-GB' : language
}

const markup = /\{(\w+)\}|`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((\/[\w/-]*)\)/g

/** Whether a text has markup besides its values. */
export function hasMarkup(text: string): boolean {
  return [...text.matchAll(markup)].some(([, name]) => name === undefined)
}

function write(text: string, values: Readonly<Record<string, Part>>): Part {
  const parts: Part[] = []
  let end = 0
  for (const { 0: all, 1: name, 2: code, 3: bold, 4: label, 5: href, index } of text.matchAll(markup)) {
    parts.push(text.slice(end, index))
    if (name !== undefined) parts.push(Object.hasOwn(values, name) ? values[name] : undefined)
    else if (code !== undefined) parts.push(html`<code>${write(code, values)}</code>`)
    else if (bold !== undefined) parts.push(html`<strong>${write(bold, values)}</strong>`)
    else parts.push(html`<a href="${href}">${label}</a>`)
    end = index + all.length
  }
  return [...parts, text.slice(end)]
}

function inLanguage(write: (language: PageLanguage) => Part): Message {
  return new Message(language => write((language as PageLanguage | undefined) ?? english))
}

/** A text of the catalogue, in the language of its reader. */
export function t(text: PageText, values: Readonly<Record<string, Part>> = {}): Message {
  return inLanguage(({ texts }) => write(texts[text] ?? text, values))
}

/** The message of an error, or a text of the model: in the language of its reader if the catalogue has it. */
export function translated(text: Text): Text {
  return typeof text === 'string' && Object.hasOwn(de, text) ? t(text as PageText) : text
}

/** The items of a collection, within a sentence, e.g. `blog posts`. */
export function itemsText(name: string): Text {
  return translated(itemsInWords({ name }))
}

/** A date, number or name as the reader's language writes it. */
export function formatted(format: (locale: string) => string): Message {
  return inLanguage(language => format(localeOf(language)))
}

/** A text made of others, as `say` writes them. */
export function composed(make: (say: (text: Text) => string, locale: string) => string): Message {
  return inLanguage(language => make(text => plainText(text, language), localeOf(language)))
}
