/** Tiles: the picture of an app, a person or the service, or their initial. */

import { attributes, type Html, html } from '../../../base/html.ts'
import { type Theme, tileColours } from '../../../base/theme.ts'
import type { App } from '../../../identity/server/server.ts'

export type TileSize = 'small' | 'large' | undefined

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The first letter or digit of a name; `?` if it has none. */
export function initialOf(name: string): string {
  const grapheme = [...graphemes.segment(name.slice(0, 200))].find(({ segment }) =>
    /[\p{L}\p{N}]/u.test(segment),
  )
  // A letter may have any number of combining marks.
  return grapheme === undefined ? '?' : [...grapheme.segment].slice(0, 4).join('')
}

/** The index of a colour, always the same for the same text. */
export function tileColour(text: string): number {
  let sum = 7
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  return sum % tileColours.length
}

function tile(classes: readonly (string | undefined)[], content: Html | string): Html {
  const classNames = ['tile', ...classes.filter(name => name !== undefined)].join(' ')
  return html`<span${attributes({ class: classNames, 'aria-hidden': 'true' })}>${content}</span>`
}

/** The style sheet shows the initial if the image cannot be loaded. */
function image(address: string, name: string): Html {
  return html`<img src="${address}" alt="" data-initial="${initialOf(name)}" referrerpolicy="no-referrer">`
}

export function appTile(
  { clientId, name, logoUri }: Pick<App, 'clientId' | 'name' | 'logoUri'>,
  size?: TileSize,
): Html {
  const colour = `c${tileColour(clientId)}`
  if (logoUri === undefined) return tile([colour, size], initialOf(name))
  return tile([colour, 'logo', size], image(logoUri, name))
}

/** The colour depends on `email`, so that it is the same on pages that do not know the name. */
export function personTile(name: string, email: string, size?: TileSize): Html {
  return tile(['round', `c${tileColour(email)}`, size], initialOf(name))
}

export function brandTile({ logo, name }: Theme, size?: TileSize): Html {
  if (logo === undefined) return tile([size], initialOf(name))
  return tile(['logo', size], image(logo, name))
}

/** The service's picture and name, as a link to its first page. */
export function brand(theme: Theme): Html {
  return html`<a class="brand" href="/">${brandTile(theme, 'small')}<span>${theme.name}</span></a>`
}
