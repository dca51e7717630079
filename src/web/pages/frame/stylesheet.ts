/** The only stylesheet of all pages. */

import { grounds, neutral, palettes, type Theme, tileColours } from '../../../base/theme.ts'
import { base } from './styles/base.ts'
import { consent } from './styles/consent.ts'
import { forms } from './styles/forms.ts'
import { frame } from './styles/frame.ts'
import { items } from './styles/items.ts'
import { parts } from './styles/parts.ts'
import { reading } from './styles/reading.ts'
import { shell } from './styles/shell.ts'

function variables(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `--${name}: ${value}`)
    .join('; ')
}

/** The colours of a theme as custom properties. On every background, text has a contrast of at least 4.5. */
function themeVariables(theme: Theme): string {
  const colours = palettes(theme)
  const of = (mode: 'light' | 'dark') =>
    variables({
      ground: grounds[mode],
      ...neutral[mode],
      accent: colours[mode].accent,
      'on-accent': colours[mode].onAccent,
      tint: colours[mode].tint,
    })
  return `:root { color-scheme: light dark; ${of('light')} }
@media (prefers-color-scheme: dark) { :root { ${of('dark')} } }
`
}

/** What pages need whose content is drawn by another library. */
export function toolStylesheet(theme: Theme): string {
  return themeVariables(theme) + shell
}

/** The stylesheet of a theme. */
export function stylesheet(theme: Theme): string {
  const tileRules = tileColours.map((colour, at) => `.tile.c${at} { --tile: ${colour}; color: #fff }\n`)
  return [toolStylesheet(theme), ...tileRules, base, frame, forms, parts, consent, items, reading].join('')
}
