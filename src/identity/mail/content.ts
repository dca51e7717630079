/**
 * The content of a mail, from which the plain and the HTML part are made. Parts that are written
 * separately diverge.
 */
import type { Theme } from '../../base/theme.ts'
import type { PageText } from './page-texts.ts'
import type { MailName, TemplateValues } from './values.ts'

/** A paragraph, or a paragraph with a link below it. */
export type MailParagraph = string | { readonly text: string; readonly link: string }

/** A list of names and values. */
export type Facts = readonly (readonly [name: string, value: string])[]

/** Texts are escaped, and mail programs do not turn them into links. */
export interface MailContent {
  readonly subject: string
  /** What mail programs show next to the subject in a list of mails. */
  readonly preview: string
  readonly heading: string
  readonly paragraphs: readonly MailParagraph[]
  /** A button, with its link as text below. */
  readonly action?: { readonly label: string; readonly link: string } | undefined
  readonly facts?: Facts | undefined
  /** E.g. how long a link works, and what to do if somebody else has caused the mail. */
  readonly notes?: readonly MailParagraph[] | undefined
}

/** The content with the details of the request. */
export interface WholeContent extends MailContent {
  /** The details of the request that has caused the mail. */
  readonly requestFacts: Facts
}

/** The parameters of the layout of both parts. */
export interface Layout {
  readonly theme: Theme
  /** BCP 47. */
  readonly language: string
  readonly texts: LayoutTexts
}

/** A mail whose parts the project writes. `html` is sent unchanged, so the project must escape the values. */
export interface WrittenMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export type MailTemplate<Name extends MailName> = (values: TemplateValues<Name>) => MailContent | WrittenMail

/** The texts around the content of every mail. */
export interface LayoutTexts {
  /** Before the link as text. */
  readonly linkHint: string
  readonly time: string
  readonly device: string
  readonly address: string
  /** The last line. */
  footer(service: string): string
}

export type MailTemplates = { readonly [Name in MailName]: MailTemplate<Name> }

/** Every text of the mails in a language. */
export type TextsOfMails = { readonly layout: LayoutTexts } & MailTemplates

/** Every text of a language. */
export type MailTexts = TextsOfMails & {
  /** The texts of pages, by the English ones. Pages are in the languages that have them. */
  readonly pages?: Readonly<Record<PageText, string>>
}

/** Portico's own texts. The layout creates the parts of their mails. */
export type OwnTexts = { readonly layout: LayoutTexts } & {
  readonly [Name in MailName]: (values: TemplateValues<Name>) => MailContent
}
