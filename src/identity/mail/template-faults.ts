/** The faults of a project's mail templates. They are found at startup, by composing each mail with sample values. */
import { isObject } from '../../base/json.ts'
import type { Theme } from '../../base/theme.ts'
import { canonicalTag, createCatalogue } from './catalogue.ts'
import { type ComposedMail, compose } from './compose.ts'
import { de } from './de-pages.ts'
import { type DeclaredMailTemplates, declaredKind } from './define.ts'
import { en } from './en.ts'
import { lookup } from './languages.ts'
import { hasMarkup } from './page-texts.ts'
import { type MailName, mailNames, sampleValues } from './values.ts'

export interface TemplateFault {
  /** E.g. `fr.resetPassword`. */
  readonly place: string
  readonly message: string
}

const names = ['layout', ...mailNames]
const layoutTexts = Object.entries(en.layout)
const pageTexts = Object.keys(de)
const maxSubjectCharacters = 200

const sampleTheme: Theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }

/** Whether a value was made by `defineMailTemplates`. */
export function isDeclaredMailTemplates(value: unknown): value is DeclaredMailTemplates {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === declaredKind
}

function layoutFaults(tag: string, layout: unknown, mustBeComplete: boolean): readonly TemplateFault[] {
  const place = `${tag}.layout`
  if (!isObject(layout)) return [{ place, message: 'must be an object of texts.' }]
  return layoutTexts.flatMap(([name, builtinText]): TemplateFault[] => {
    const text = layout[name]
    if (text === undefined && !mustBeComplete) return []
    if (typeof text === typeof builtinText && text !== '') return []
    const expected = typeof builtinText === 'function' ? 'a function that returns a text' : 'a text'
    return [{ place: `${place}.${name}`, message: `must be ${expected}.` }]
  })
}

/** The faults of texts of pages. Each is declared by its English text, has its values, and markup only where it has some. */
function pageFaults(tag: string, texts: unknown, mustBeComplete: boolean): readonly TemplateFault[] {
  const place = `${tag}.pages`
  if (!isObject(texts)) return [{ place, message: 'must be an object of texts.' }]
  const missing = pageTexts.filter(text => texts[text] === undefined)
  const incomplete = {
    place,
    message: `omits ${missing.length} texts, such as \`${missing[0]}\`. Portico has no pages in this language, so all of them are required.`,
  }
  const faults = Object.entries(texts).flatMap(([text, own]): TemplateFault[] => {
    if (!Object.hasOwn(de, text)) return [{ place, message: `\`${text}\` is not a text of a page.` }]
    const values = valuesIn(text)
    if (typeof own !== 'string' || own === '' || String(valuesIn(own)) !== String(values)) {
      const expected = ['a text', ...(values.length > 0 ? values : ['no value in braces'])].join(', with ')
      return [{ place, message: `\`${text}\` must be ${expected}.` }]
    }
    // Texts without markup are also used where markup would be seen, as in titles.
    const hasNewMarkup = hasMarkup(own) && !hasMarkup(text)
    return hasNewMarkup ? [{ place, message: `\`${text}\` must be a text without markup.` }] : []
  })
  return mustBeComplete && missing.length > 0 ? [incomplete, ...faults] : faults
}

/** E.g. `{name}`, each once, sorted. */
function valuesIn(text: string): readonly string[] {
  return [...new Set(text.match(/\{\w+\}/g))].sort()
}

/** The faults of a language's declaration, found without calling a template. */
function declarationFaults(
  tag: string,
  texts: unknown,
  mustBeComplete: boolean,
  inheritsPages: boolean,
): readonly TemplateFault[] {
  if (!isObject(texts)) return [{ place: tag, message: 'must be an object of mail templates.' }]
  const missing = names.filter(name => texts[name] === undefined)
  const faults: TemplateFault[] = []
  if (mustBeComplete && missing.length > 0) {
    const message = `omits ${missing.map(name => `\`${name}\``).join(', ')}. Portico has no mails in this language, so all of them are required.`
    faults.push({ place: tag, message })
  }
  for (const [name, template] of Object.entries(texts)) {
    const place = `${tag}.${name}`
    if (name === 'layout') faults.push(...layoutFaults(tag, template, mustBeComplete))
    else if (name === 'pages') faults.push(...pageFaults(tag, template, !inheritsPages))
    else if (!names.includes(name))
      faults.push({ place, message: `is not the name of a mail. The mails are ${mailNames.join(', ')}.` })
    else if (typeof template !== 'function')
      faults.push({
        place,
        message: 'must be a function that returns the mail: `({ service, link }) => ({ … })`.',
      })
  }
  return faults
}

/** The fault of a mail that does not contain the link to which it leads. */
function linkFault({ text, html }: ComposedMail, name: MailName): string | undefined {
  const values: Readonly<Record<string, unknown>> = { ...sampleValues[name] }
  const { link } = values
  if (typeof link !== 'string') return undefined
  const escaped = link.replaceAll('&', '&amp;')
  if (!text.includes(link)) return 'does not contain `link` in its plain part, so recipients cannot continue.'
  if (!html.includes(link) && !html.includes(escaped))
    return 'does not contain `link` in its HTML part, so recipients cannot continue.'
  return undefined
}

function composedFault(composed: ComposedMail, name: MailName): string | undefined {
  const { subject, text, html } = composed
  if (subject === '' || subject.length > maxSubjectCharacters)
    return `has no subject of 1 to ${maxSubjectCharacters} characters.`
  if (typeof text !== 'string' || text.trim() === '') return 'has no plain part: `text`.'
  if (typeof html !== 'string' || html.trim() === '') return 'has no HTML part: `html`.'
  return linkFault(composed, name)
}

const contentRequirement =
  'must return an object with `subject`, `preview`, `heading` and `paragraphs`, or with `subject`, `text` and `html`.'

/** The fault of one template, found by calling it with sample values. */
function templateFault(
  declared: DeclaredMailTemplates,
  tag: string,
  name: MailName,
): TemplateFault | undefined {
  const place = `${tag}.${name}`
  const language = canonicalTag(tag) ?? tag
  const texts = createCatalogue(declared).texts(language)
  try {
    const result: unknown = texts[name]({ ...sampleOf(name) } as never)
    const isMail = isObject(result) && (isWritten(result) || isContent(result))
    if (!isMail) return { place, message: contentRequirement }
    const message = composedFault(
      compose(name, sampleValues[name], { texts, language, theme: sampleTheme }),
      name,
    )
    return message === undefined ? undefined : { place, message }
  } catch (error) {
    const cause = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return { place, message: `fails with sample values: ${cause}` }
  }
}

function sampleOf(name: MailName): object {
  return {
    ...sampleValues[name],
    service: 'Example',
    request: undefined,
    duration: (minutes: number) => `${minutes}`,
  }
}

function isWritten(mail: Readonly<Record<string, unknown>>): boolean {
  return 'html' in mail && ['subject', 'text', 'html'].every(part => isText(mail[part]))
}

function isParagraph(value: unknown): boolean {
  return typeof value === 'string' || (isObject(value) && isText(value.text) && isText(value.link))
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isContent({ action, notes = [], paragraphs, ...mail }: Readonly<Record<string, unknown>>): boolean {
  const isAction = action === undefined || (isObject(action) && isText(action.label) && isText(action.link))
  const areTexts = ['subject', 'preview', 'heading'].every(part => isText(mail[part]))
  return (
    areTexts && isAction && [paragraphs, notes].every(list => Array.isArray(list) && list.every(isParagraph))
  )
}

/** All faults. Templates are called only if the declaration has none. */
export function templateFaults(declared: DeclaredMailTemplates): readonly TemplateFault[] {
  const tags = Object.keys(declared.languages)
  const faults = tags.flatMap((tag): readonly TemplateFault[] => {
    if (canonicalTag(tag) === undefined)
      return [{ place: tag, message: 'is not a language tag such as `fr` or `pt-BR` (BCP 47).' }]
    const others = tags.filter(other => other !== tag)
    const isBasedOn = (languages: readonly string[]) =>
      languages.includes(tag) || lookup(tag, languages) !== undefined
    const withPages = others.filter(other => declared.languages[other]?.pages !== undefined)
    return declarationFaults(
      tag,
      declared.languages[tag],
      !isBasedOn(['en', 'de', ...others]),
      isBasedOn(['en', 'de', ...withPages]),
    )
  })
  if (faults.length > 0) return faults
  return tags.flatMap(tag =>
    Object.keys(declared.languages[tag] ?? {}).flatMap(name => {
      const fault =
        name === 'layout' || name === 'pages' ? undefined : templateFault(declared, tag, name as MailName)
      return fault ?? []
    }),
  )
}
