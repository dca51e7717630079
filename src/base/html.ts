/** HTML templates, whose values are escaped. */

declare const htmlBrand: unique symbol

/** HTML that is safe in a page. Only this module creates it. */
export interface Html {
  readonly [htmlBrand]: true
  readonly text: string
}

/** A text of a catalogue: it is written when the page is rendered, in the language of its reader. */
export class Message {
  readonly #write: (language: unknown) => Part

  /** `write` gets what `render` gets; undefined: the text is needed in the default language. */
  constructor(write: (language: unknown) => Part) {
    this.#write = write
  }

  in(language: unknown): Part {
    return this.#write(language)
  }

  /** In the default language, for programs and the log. */
  toString(): string {
    return plainText(this, undefined)
  }
}

/** A message without markup, as plain text. */
export function plainText(part: Part, language: unknown): string {
  if (part instanceof Message) return plainText(part.in(language), language)
  if (Array.isArray(part)) return part.map(element => plainText(element, language)).join('')
  return part === null || part === undefined || part === false ? '' : String(part)
}

/** A text for a reader. */
export type Text = string | Message

/** A value in a template: texts are escaped; null, undefined and false are omitted. */
export type Part = Html | Text | number | null | undefined | false | readonly Part[]

class Piece {
  /** Finished HTML, and the messages in it. */
  readonly chunks: readonly (string | Message)[]

  constructor(chunks: readonly (string | Message)[]) {
    this.chunks = chunks
  }

  get text(): string {
    return renderChunks(this.chunks, undefined)
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

/** Adds a part to the chunks; neighbouring texts become one. */
function append(chunks: (string | Message)[], part: Part): void {
  if (part === null || part === undefined || part === false) return
  if (Array.isArray(part)) for (const element of part) append(chunks, element)
  else if (part instanceof Piece) for (const chunk of part.chunks) appendChunk(chunks, chunk)
  else appendChunk(chunks, part instanceof Message ? part : escapeHtml(String(part)))
}

function appendChunk(chunks: (string | Message)[], chunk: string | Message): void {
  const last = chunks.at(-1)
  if (typeof chunk === 'string' && typeof last === 'string') chunks[chunks.length - 1] = last + chunk
  else chunks.push(chunk)
}

function renderChunks(chunks: readonly (string | Message)[], language: unknown): string {
  return chunks
    .map(chunk => (typeof chunk === 'string' ? chunk : render(chunk.in(language), language)))
    .join('')
}

/** The HTML of a part, with its messages in a language. */
export function render(part: Part, language: unknown): string {
  const chunks: (string | Message)[] = []
  append(chunks, part)
  return renderChunks(chunks, language)
}

function piece(text: string): Html {
  return new Piece([text]) as unknown as Html
}

/** A template. Its values are escaped unless they are `Html`. Attribute values need quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const chunks: (string | Message)[] = [strings[0] ?? '']
  for (const [index, part] of parts.entries()) {
    append(chunks, part)
    appendChunk(chunks, strings[index + 1] ?? '')
  }
  return new Piece(chunks) as unknown as Html
}

/** A name chosen by a user, isolated so that its direction does not affect the text around it. */
export function named(name: string): Html {
  return html`<bdi>${name}</bdi>`
}

/** Quoted attributes: `true` gives an attribute without a value; false, null and undefined omit it. */
export function attributes(
  values: Readonly<Record<string, Text | number | boolean | null | undefined>>,
): Html {
  const shown = Object.entries(values).map(([name, value]): Part => {
    if (value === false || value === null || value === undefined) return null
    return value === true ? html` ${name}` : html` ${name}="${value}"`
  })
  return html`${shown}`
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
