/** What a mail says, before it has a plain and an HTML part. */
import type { Theme } from '../pages/frame/theme.ts'
import type { MailName, TemplateValues } from './values.ts'

/** A paragraph; or one that leads to a link, which stands below it. */
export type MailParagraph = string | { readonly text: string; readonly link: string }

/** Names and values, below each other. */
export type Facts = readonly (readonly [name: string, value: string])[]

/** Both parts are made of it: texts are escaped, and no text becomes a link by itself. */
export interface MailContent {
  readonly subject: string
  /** What mail programs show beside the subject, in a list. */
  readonly preview: string
  readonly heading: string
  readonly paragraphs: readonly MailParagraph[]
  /** The one thing to do: a button, and its link as text. */
  readonly action?: { readonly label: string; readonly link: string } | undefined
  readonly facts?: Facts | undefined
  /** How long it counts, and what to do if it was not you. */
  readonly notes?: readonly MailParagraph[] | undefined
}

/** What the parts are made of. */
export interface WholeContent extends MailContent {
  /** When, by which program and from where it was asked for. */
  readonly asked: Facts
}

/** What the parts are made with. */
export interface Layout {
  readonly theme: Theme
  /** BCP 47. */
  readonly language: string
  readonly texts: LayoutTexts
}

/** A mail whose parts were written by the project. `html` is sent as it is: whoever writes it escapes the values. */
export interface WrittenMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export type MailTemplate<Name extends MailName> = (values: TemplateValues<Name>) => MailContent | WrittenMail

/** What stands around the text of every mail. */
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

/** Every text of a language. */
export type MailTexts = { readonly layout: LayoutTexts } & MailTemplates

/** The texts of Portico itself, both parts of which are made by the layout. */
export type OwnTexts = { readonly layout: LayoutTexts } & {
  readonly [Name in MailName]: (values: TemplateValues<Name>) => MailContent
}
