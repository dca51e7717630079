/** A project's own mails. Apart from the rest, because files of a project import it. */
import type { LayoutTexts, MailTexts } from './content.ts'

/** The texts that a language replaces. */
export type PartialTexts = { readonly layout?: Partial<LayoutTexts> } & Partial<Omit<MailTexts, 'layout'>>

/** The languages of Portico itself, and their regional variants: what these leave out is taken from them. */
type Known = 'en' | 'de' | `en-${string}` | `de-${string}`

export const declaredKind = 'mail templates'

export interface DeclaredMailTemplates {
  readonly kind: typeof declaredKind
  /** By BCP 47 tags. */
  readonly languages: Readonly<Record<string, PartialTexts>>
}

/**
 * Replaces the texts of mails, by language and template, as the default export of the file that the setting
 * `mail.templates` names. A language that Portico does not have needs every text; English and German, and regional variants
 * such as `de-AT`, only those that differ.
 */
export function defineMailTemplates<const Tag extends string>(
  languages: {
    readonly [T in Tag]: T extends Known ? PartialTexts : MailTexts
  },
): DeclaredMailTemplates {
  return { kind: declaredKind, languages: languages as Readonly<Record<string, PartialTexts>> }
}
