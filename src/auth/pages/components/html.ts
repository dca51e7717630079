/** HTML that is escaped unless it was made here. */

declare const made: unique symbol

/** A piece of HTML, safe to stand in a page. Only the tag `html` makes one. */
export interface Html {
  readonly [made]: true
  readonly text: string
}

/** What may stand in a template: texts are escaped; null, undefined and false are nothing. */
export type Part = Html | string | number | null | undefined | false | readonly Part[]

class Piece {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and for attribute values in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? character)
}

function written(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (Array.isArray(part)) return part.map(written).join('')
  return part instanceof Piece ? part.text : escapeHtml(String(part))
}

function piece(text: string): Html {
  return new Piece(text) as unknown as Html
}

/** A template whose values are escaped, save for those that are `Html` themselves. Attributes need quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (const [at, part] of parts.entries()) text += written(part) + (strings[at + 1] ?? '')
  return piece(text)
}

/** What somebody called something: whatever its direction, it turns nothing around it. */
export function named(name: string): Html {
  return html`<bdi>${name}</bdi>`
}

/** Attributes in quotes: true has no value; false, null and undefined leave one out. */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Html {
  let text = ''
  for (const [name, value] of Object.entries(values)) {
    if (value === false || value === null || value === undefined) continue
    text += value === true ? ` ${name}` : ` ${name}="${escapeHtml(String(value))}"`
  }
  return piece(text)
}

/** An image that another library drew as SVG; the only HTML that is taken as it is. */
export function drawing(svg: string): Html {
  if (!/^(<\?xml[^>]*\?>)?\s*<svg[^<>]*>(\s*<(path|rect)[^<>]*\/>)*\s*<\/svg>\s*$/.test(svg))
    throw new TypeError('This is no plain drawing.')
  return piece(svg.replace(/^<\?xml[^>]*\?>\s*/, ''))
}

/** HTML that a renderer made, which has escaped what it was given. */
export function rendered(text: string): Html {
  return piece(text)
}
