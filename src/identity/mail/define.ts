/** Declares a project's own mails. A separate file, because files of a project import it. */
import type { LayoutTexts, MailTexts } from './content.ts'
import type { PageTexts } from './page-texts.ts'

/** The texts that a language replaces. */
export type PartialTexts = {
  readonly layout?: Partial<LayoutTexts>
  readonly pages?: PageTexts
} & Partial<Omit<MailTexts, 'layout' | 'pages'>>

/** Portico's own languages, and their regional variants, which inherit what they omit. */
type OwnLanguage = 'en' | 'de' | `en-${string}` | `de-${string}`

export const declaredKind = 'mail templates'

export interface DeclaredMailTemplates {
  readonly kind: typeof declaredKind
  /** By BCP 47 tags. */
  readonly languages: Readonly<Record<string, PartialTexts>>
}

/**
 * Replaces the texts of mails, by language and template. The result is the default export of the file that the setting
 * `mail.templates` names. English, German and regional variants such as `de-AT` need only the texts that differ; every other
 * language needs all of them.
 */
export function defineMailTemplates<const Tag extends string>(
  languages: {
    readonly [T in Tag]: T extends OwnLanguage ? PartialTexts : MailTexts
  },
): DeclaredMailTemplates {
  return { kind: declaredKind, languages: languages as Readonly<Record<string, PartialTexts>> }
}
