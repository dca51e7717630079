/** Decorative icons next to words. */
import { type Html, rendered } from '../../../base/html.ts'

/** The content of each icon, in a box of 20 by 20. */
const drawings = {
  home: '<path d="M3 9.5 10 3l7 6.5V17h-5v-4.5H8V17H3z"/>',
  person: '<circle cx="10" cy="6.5" r="3.25"/><path d="M3.5 17c.6-3.4 3.2-5 6.5-5s5.9 1.6 6.5 5"/>',
  shield: '<path d="M10 2.5 16.5 5v4.500c0 4-2.7 6.7-6.5 8-3.8-1.3-6.5-4-6.5-8V5z"/>',
  screen: '<rect x="2.5" y="3.5" width="15" height="10" rx="1.5"/><path d="M7 17h6M10 13.500V17"/>',
  phone: '<rect x="5.5" y="2" width="9" height="16" rx="2"/><path d="M9 15.500h2"/>',
  tablet: '<rect x="3.5" y="2" width="13" height="16" rx="2"/><path d="M9 15.500h2"/>',
  program:
    '<rect x="2.5" y="3.5" width="15" height="13" rx="1.5"/><path d="m5.5 8 2.5 2.250L5.5 12.500M10 13h4.5"/>',
  apps: '<rect x="3" y="3" width="5.5" height="5.5" rx="1"/><rect x="11.5" y="3" width="5.5" height="5.5" rx="1"/><rect x="3" y="11.5" width="5.5" height="5.5" rx="1"/><rect x="11.5" y="11.5" width="5.5" height="5.5" rx="1"/>',
  key: '<circle cx="6.5" cy="13.5" r="3.5"/><path d="m9 11 7.5-7.500M13.5 6.5 16 9"/>',
  code: '<path d="m6.5 6-4 4 4 4M13.5 6l4 4-4 4M11.5 4l-3 12"/>',
  webhook:
    '<circle cx="5" cy="14" r="2.5"/><circle cx="15" cy="14" r="2.5"/><circle cx="10" cy="5" r="2.5"/><path d="M9 7.3 6.2 11.800M11 7.300l2.8 4.500M7.5 14h5"/>',
  book: '<path d="M10 5.500C8.5 4 6 3.5 3 3.500v11.500c3 0 5.5.5 7 2 1.5-1.5 4-2 7-2V3.500c-3 0-5.5.5-7 2zm0 0V17"/>',
  leave: '<path d="M8 3H4.500v14H8M12.5 6.5 16 10l-3.5 3.500M16 10H8"/>',
  search: '<circle cx="9" cy="9" r="6"/><path d="m13.5 13.5 4 4"/>',
  lines: '<path d="M3 5.500h14M3 10h14M3 14.500h14"/>',
  check: '<circle cx="10" cy="10" r="7.5"/><path d="m6.7 10.3 2.3 2.2 4.3-4.8"/>',
  attention: '<path d="M10 3 18 16.500H2zM10 8v4M10 14.200v.1"/>',
  mail: '<rect x="2.5" y="4" width="15" height="12" rx="1.5"/><path d="m3 5.500 7 5.500 7-5.500"/>',
  clock: '<circle cx="10" cy="10" r="7.5"/><path d="M10 5.500V10l3 2"/>',
  stop: '<circle cx="10" cy="10" r="7.5"/><path d="M10 6v4.500M10 13.600v.1"/>',
  forward: '<path d="m7.500 4.500 5.500 5.500-5.500 5.500"/>',
  exchange: '<path d="M3 7.500h13.500L13 4M17 12.500H3.500L7 16"/>',
  arrow: '<path d="M3.5 10h13M12 5.500l4.5 4.5-4.5 4.5"/>',
} as const

export type Icon = keyof typeof drawings

/** `size`: its width and height in pixels. */
export function icon(name: Icon, size = 20): Html {
  return rendered(
    `<svg aria-hidden="true" viewBox="0 0 20 20" width="${size}" height="${size}" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round">${drawings[name]}</svg>`,
  )
}
