/** The texts of mails and pages in every language: Portico's own, and those that a project adds or replaces. */
import type { TextsOfMails } from './content.ts'
import { de } from './de.ts'
import { de as dePages } from './de-pages.ts'
import type { DeclaredMailTemplates, PartialTexts } from './define.ts'
import { en } from './en.ts'
import { lookup } from './languages.ts'
import type { PageLanguage, PageTexts } from './page-texts.ts'

/** The texts of a language, with those of pages that it has. */
type LanguageTexts = TextsOfMails & { readonly pages?: PageTexts }

const ownTexts: ReadonlyMap<string, LanguageTexts> = new Map([
  ['en', { ...en, pages: {} }],
  ['de', { ...de, pages: dePages }],
])

export interface MailCatalogue {
  /** BCP 47. */
  readonly languages: readonly string[]
  /** The texts of the language, of the nearest one (RFC 4647, 3.4), or in English. */
  texts(language: string): LanguageTexts
  /** Portico's own texts, used if a project's template fails. */
  own(language: string): { readonly language: string; readonly texts: LanguageTexts }
  /** The languages that have texts of pages. */
  readonly pageLanguages: readonly string[]
  /** The texts of pages in one of `pageLanguages`. */
  pages(language: string): PageLanguage
}

/** The canonical form of a language tag; undefined if it is not one. */
export function canonicalTag(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

/** The texts from which a language inherits those that it omits; undefined if there are none. */
export function inherited(
  tag: string,
  catalogue: ReadonlyMap<string, LanguageTexts>,
): LanguageTexts | undefined {
  return catalogue.get(lookup(tag, [...catalogue.keys()]) ?? '')
}

function merged(base: LanguageTexts | undefined, texts: PartialTexts): LanguageTexts {
  // A language without a base is complete: see `templateFaults`.
  return {
    ...base,
    ...texts,
    layout: { ...base?.layout, ...texts.layout },
    ...((base?.pages ?? texts.pages) && { pages: { ...base?.pages, ...texts.pages } }),
  } as LanguageTexts
}

function textsOf(catalogue: ReadonlyMap<string, LanguageTexts>, tag: string) {
  const language = lookup(tag, [...catalogue.keys()]) ?? 'en'
  return { language, texts: catalogue.get(language) ?? en }
}

/** `declared` must have no faults: see `templateFaults`. */
export function createCatalogue(declared?: DeclaredMailTemplates): MailCatalogue {
  const catalogue = new Map(ownTexts)
  const added = Object.entries(declared?.languages ?? {})
  // The shortest tags first: regional variants inherit the texts that they omit.
  for (const [tag, texts] of added.sort(([a], [b]) => a.length - b.length)) {
    const canonical = canonicalTag(tag) ?? tag
    catalogue.set(canonical, merged(inherited(canonical, catalogue), texts))
  }
  return {
    languages: [...catalogue.keys()],
    texts: language => textsOf(catalogue, language).texts,
    own: language => textsOf(ownTexts, language),
    pageLanguages: [...catalogue].flatMap(([language, { pages }]) => (pages ? [language] : [])),
    pages: language => ({ language, texts: catalogue.get(language)?.pages ?? {} }),
  }
}
