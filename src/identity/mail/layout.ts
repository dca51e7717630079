/**
 * The HTML part of a mail. Mail programs remove stylesheets, scripts and most of CSS: styles are attributes, a table centres
 * the content, and only some programs support the rules for dark mode and narrow windows.
 */
import { attributes, type Html, html, named } from '../../base/html.ts'
import { palettes, type Theme } from '../../base/theme.ts'
import type { Facts, Layout, MailParagraph, WholeContent } from './content.ts'

const colours = {
  light: { ground: '#f3f4f6', card: '#ffffff', text: '#1f2328', faint: '#59626d', line: '#e1e4e8' },
  dark: { ground: '#0d0f12', card: '#14161a', text: '#eceef1', faint: '#a3abb5', line: '#30353c' },
} as const

const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

const { text, faint, line, card, ground } = colours.light
const paragraphStyle = `margin:0 0 16px;font-size:16px;line-height:24px;color:${text}`
const noteStyle = `margin:0 0 12px;font-size:14px;line-height:21px;color:${faint}`

/** Fills the preview in lists of mails, so that programs do not show the text of the mail there. */
const filler = '\u034f\u200c\u00a0'.repeat(60)

function darkRules(accent: string, onAccent: string): string {
  const { ground, card, text, faint, line } = colours.dark
  const rules = [
    ['ground', `background-color:${ground}`],
    ['card', `background-color:${card};border-color:${line}`],
    ['text', `color:${text}`],
    ['faint', `color:${faint}`],
    ['line', `border-color:${line}`],
    ['link', `color:${accent}`],
    ['fill', `background-color:${accent};color:${onAccent}`],
  ]
  const important = (declarations: string) => declarations.replace(/(;|$)/g, ' !important$1')
  return rules.map(([name, declarations = '']) => `.${name}{${important(declarations)}}`).join('')
}

function head({ theme }: Layout, subject: string): Html {
  const { accent, onAccent } = palettes(theme).dark
  return html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>${subject}</title>
<style>
:root{color-scheme:light dark}
@media (max-width:520px){.outer{padding:0 !important}.card{padding:28px 20px !important;border-radius:0 !important;border-width:0 0 1px !important}}
@media (prefers-color-scheme:dark){${darkRules(accent, onAccent)}}
</style>
</head>`
}

/** The first character of the name, also an emoji, for services without a logo. */
function initial(name: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name.trim())
  return (first?.segment ?? '').toLocaleUpperCase('en')
}

function brand({ name, logo, colour }: Theme): Html {
  const { accent, onAccent } = palettes({ name, logo, colour }).light
  const tileStyle = `display:inline-block;width:32px;height:32px;border-radius:8px;background-color:${accent};color:${onAccent};font-size:17px;line-height:32px;font-weight:700;text-align:center;vertical-align:middle`
  const logoStyle = 'height:32px;width:auto;max-width:160px;border:0;vertical-align:middle'
  const mark =
    logo === undefined
      ? html`<span class="fill" aria-hidden="true" style="${tileStyle}">${initial(name)}</span>`
      : html`<img src="${logo}" alt="" height="32" style="${logoStyle}">`
  return html`<p style="margin:0 0 28px;line-height:32px">${mark}<span class="text" style="padding:0 12px;font-size:17px;font-weight:600;color:${text};vertical-align:middle">${name}</span></p>`
}

function linkHtml(link: string, accent: string): Html {
  return html`<a class="link" dir="ltr" href="${link}" style="color:${accent};word-break:break-all">${link}</a>`
}

function paragraphHtml(paragraph: MailParagraph, kind: 'text' | 'faint', accent: string): Html {
  const style = kind === 'text' ? paragraphStyle : noteStyle
  if (typeof paragraph === 'string') return html`<p class="${kind}" style="${style}">${paragraph}</p>\n`
  return html`<p class="${kind}" style="${style}">${paragraph.text}<br>${linkHtml(paragraph.link, accent)}</p>\n`
}

function button({ label, link }: { readonly label: string; readonly link: string }, layout: Layout): Html {
  const { accent, onAccent } = palettes(layout.theme).light
  const style = `display:inline-block;padding:13px 24px;border-radius:8px;background-color:${accent};color:${onAccent};font-size:16px;line-height:22px;font-weight:600;text-decoration:none`
  return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:24px 0;border-collapse:separate"><tr><td class="fill" style="border-radius:8px;background-color:${accent}"><a class="fill" href="${link}" style="${style}">${label}</a></td></tr></table>
<p class="faint" style="${noteStyle}">${layout.texts.linkHint}<br>${linkHtml(link, accent)}</p>`
}

function list(rows: Facts): Html | undefined {
  if (rows.length === 0) return undefined
  const cell = (style: string) => `padding:8px 0;font-size:14px;line-height:21px;vertical-align:top;${style}`
  const rowsHtml = rows.map(
    ([name, value]) =>
      html`<tr><td class="faint line" style="${cell(`width:30%;padding-inline-end:16px;border-top:1px solid ${line};color:${faint}`)}">${name}</td><td class="text line" style="${cell(`border-top:1px solid ${line};color:${text}`)}">${named(value)}</td></tr>`,
  )
  return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" width="100%" style="margin:20px 0;border-collapse:collapse">${rowsHtml}</table>`
}

function direction(language: string): string {
  // Node supports `getTextInfo`, but the types do not yet.
  const locale = new Intl.Locale(language) as Intl.Locale & {
    getTextInfo?(): { readonly direction?: string }
  }
  return locale.getTextInfo?.().direction === 'rtl' ? 'rtl' : 'ltr'
}

/** A whole document. */
export function htmlPart(content: WholeContent, layout: Layout): string {
  const { theme, language, texts } = layout
  const { subject, preview, heading, paragraphs, action, facts = [], notes = [], requestFacts } = content
  const { accent } = palettes(theme).light
  // Without an action, the notes are the most important text.
  const noteKind = action ? 'faint' : 'text'
  const cardStyle = `max-width:560px;margin:0 auto;padding:36px 40px;background-color:${card};border:1px solid ${line};border-radius:12px;text-align:start;box-sizing:border-box`
  const document = html`<!doctype html>
<html${attributes({ lang: language, dir: direction(language) })}>
${head(layout, subject)}
<body class="ground" style="margin:0;padding:0;background-color:${ground};font-family:${fonts}">
<div style="display:none;max-height:0;overflow:hidden;opacity:0">${preview}${filler}</div>
<div role="article" aria-roledescription="email"${attributes({ 'aria-label': subject, lang: language })}>
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background-color:${ground};font-family:${fonts}"><tr><td class="outer" align="center" style="padding:32px 12px">
<div class="card" style="${cardStyle}">
${brand(theme)}
<h1 class="text" style="margin:0 0 16px;font-size:24px;line-height:32px;font-weight:700;color:${text}">${heading}</h1>
${paragraphs.map(part => paragraphHtml(part, 'text', accent))}${action && button(action, layout)}
${list(facts)}
${notes.length > 0 && html`<div style="margin-top:24px">${notes.map(note => paragraphHtml(note, noteKind, accent))}</div>`}
${list(requestFacts)}
<p class="faint line" style="margin:28px 0 0;padding-top:16px;border-top:1px solid ${line};font-size:13px;line-height:20px;color:${faint}">${texts.footer(theme.name)}</p>
</div>
</td></tr></table>
</div>
</body>
</html>
`
  return document.text
}
