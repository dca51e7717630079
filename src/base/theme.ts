/** The theme of the pages: a name, a logo, and a colour, which is adjusted until text is readable. */

export interface Theme {
  /** What the service is called. */
  readonly name: string
  /** The address of an image. */
  readonly logo: string | undefined
  /** `#rrggbb` */
  readonly colour: string
}

type Rgb = readonly [number, number, number]

const light: Rgb = [255, 255, 255]
const dark: Rgb = [20, 22, 26]

/** Colours that do not depend on the theme: greys, and the colours of states. */
export const neutral = {
  light: {
    /** Behind cards. */
    canvas: '#f6f7f9',
    raised: '#f6f7f9',
    hover: '#eceef2',
    text: '#16181d',
    faint: '#545a66',
    line: '#dcdfe5',
    edge: '#7a808c',
    field: '#ffffff',
    fault: '#b3140f',
    warning: '#8a5300',
    good: '#17693a',
    shadow: '0 1px 2px rgb(16 24 40 / .06), 0 8px 24px rgb(16 24 40 / .08)',
  },
  dark: {
    canvas: '#0c0d10',
    raised: '#1c1f25',
    hover: '#23272f',
    text: '#eceef2',
    faint: '#a8aeb9',
    line: '#2e333c',
    edge: '#7f8694',
    field: '#1c1f25',
    fault: '#ff9088',
    warning: '#f0c05c',
    good: '#7fd6a0',
    shadow: '0 1px 2px rgb(0 0 0 / .4), 0 8px 24px rgb(0 0 0 / .4)',
  },
} as const

/** The backgrounds of the initials of apps and people without a picture. The initials are white. */
export const tileColours = [
  '#b4233a',
  '#a3470b',
  '#7a5c00',
  '#2f6b1e',
  '#0b6b5b',
  '#1259a8',
  '#5b3fc4',
  '#9a2a86',
] as const

/** WCAG 2.2, 1.4.3: the minimum contrast of text. */
const minContrast = 4.5

function parse(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

function hex(rgb: Rgb): string {
  return `#${rgb.map(part => Math.round(part).toString(16).padStart(2, '0')).join('')}`
}

function linear(part: number): number {
  const share = part / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

/** WCAG 2.2: relative luminance. */
function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** WCAG 2.2: the contrast ratio of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(parse(one)), luminance(parse(other))]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2) => from[at] + (to[at] - from[at]) * share
  return [part(0), part(1), part(2)]
}

/** The colour, mixed with `pole` until it is readable on every background. */
function readableOn(colour: string, grounds: readonly string[], pole: Rgb): string {
  for (let step = 0; step < 20; step++) {
    const tried = hex(mixed(parse(colour), pole, step / 20))
    if (grounds.every(ground => contrast(tried, ground) >= minContrast)) return tried
  }
  return hex(pole)
}

export interface Palette {
  readonly accent: string
  /** Text on the accent. */
  readonly onAccent: string
  /** The accent, so faint that text on it is readable. */
  readonly tint: string
}

export const grounds = { light: hex(light), dark: hex(dark) }

/** The share of the accent in the tint. */
const tintShare = 0.09

function palette(colour: string, mode: 'light' | 'dark', pole: Rgb): Palette {
  const { canvas, raised, hover } = neutral[mode]
  const accent = readableOn(colour, [grounds[mode], canvas, raised, hover], pole)
  const onAccent = contrast(accent, '#ffffff') >= contrast(accent, '#000000') ? '#ffffff' : '#000000'
  return { accent, onAccent, tint: hex(mixed(parse(grounds[mode]), parse(accent), tintShare)) }
}

/** The palettes of light and of dark pages. */
export function palettes({ colour }: Theme): { readonly light: Palette; readonly dark: Palette } {
  return {
    light: palette(colour, 'light', [0, 0, 0]),
    dark: palette(colour, 'dark', [255, 255, 255]),
  }
}
