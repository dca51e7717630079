/** HTML templates, whose values are escaped. */

declare const htmlBrand: unique symbol

/** HTML that is safe in a page. Only this module creates it. */
export interface Html {
  readonly [htmlBrand]: true
  readonly text: string
}

/** A value in a template: texts are escaped; null, undefined and false are omitted. */
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

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (Array.isArray(part)) return part.map(render).join('')
  return part instanceof Piece ? part.text : escapeHtml(String(part))
}

function piece(text: string): Html {
  return new Piece(text) as unknown as Html
}

/** A template. Its values are escaped unless they are `Html`. Attribute values need quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (const [index, part] of parts.entries()) text += render(part) + (strings[index + 1] ?? '')
  return piece(text)
}

/** A name chosen by a user, isolated so that its direction does not affect the text around it. */
export function named(name: string): Html {
  return html`<bdi>${name}</bdi>`
}

/** Quoted attributes: `true` gives an attribute without a value; false, null and undefined omit it. */
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

/** An SVG image of a library. Throws a `TypeError` if it contains anything but paths and rectangles. */
export function drawing(svg: string): Html {
  if (!/^(<\?xml[^>]*\?>)?\s*<svg[^<>]*>(\s*<(path|rect)[^<>]*\/>)*\s*<\/svg>\s*$/.test(svg))
    throw new TypeError('This is not a plain drawing.')
  return piece(svg.replace(/^<\?xml[^>]*\?>\s*/, ''))
}

/** HTML of a renderer that has escaped its input. */
export function rendered(text: string): Html {
  return piece(text)
}
