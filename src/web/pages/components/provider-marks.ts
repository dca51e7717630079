/**
 * The marks on the buttons of providers, as their guides for sign-in buttons ask: Google’s in its four colours on a white or
 * near-black button, Microsoft’s in its own, Apple’s and GitHub’s in the colour of the text. They belong to their owners, and
 * stand only where people sign in with them. Drawings: simple-icons (CC0) for Apple and GitHub, Google’s branding
 * guidelines, and Microsoft’s (four squares).
 */
import { type Html, html, rendered } from '../../../base/html.ts'
import { initialOf, tileColour } from './tile.ts'

/** A kind of provider that has a mark. */
export type MarkedKind = 'google' | 'github' | 'microsoft' | 'apple'

/** The view box and the content of each mark. */
const drawings: Readonly<Record<MarkedKind, readonly [box: string, content: string]>> = {
  google: [
    '0 0 48 48',
    '<path fill="#ea4335" d="M24 9.5c3.54 0 6.71 1.22 9.21 3.6l6.85-6.85C35.9 2.38 30.47 0 24 0 14.62 0 6.51 5.38 2.56 13.22l7.98 6.19C12.43 13.72 17.74 9.5 24 9.5z"/><path fill="#4285f4" d="M46.98 24.55c0-1.57-.15-3.09-.38-4.55H24v9.02h12.94c-.58 2.96-2.26 5.48-4.78 7.18l7.73 6c4.51-4.18 7.09-10.36 7.09-17.65z"/><path fill="#fbbc05" d="M10.53 28.59c-.48-1.45-.76-2.99-.76-4.59s.27-3.14.76-4.59l-7.98-6.19C.92 16.46 0 20.12 0 24c0 3.88.92 7.54 2.56 10.78z"/><path fill="#34a853" d="M24 48c6.48 0 11.93-2.13 15.89-5.81l-7.73-6c-2.15 1.45-4.92 2.3-8.16 2.3-6.26 0-11.57-4.22-13.47-9.91l-7.98 6.19C6.51 42.62 14.62 48 24 48z"/>',
  ],
  github: [
    '0 0 24 24',
    '<path fill="currentColor" d="M12 .297c-6.63 0-12 5.373-12 12 0 5.303 3.438 9.8 8.205 11.385.6.113.82-.258.82-.577 0-.285-.01-1.04-.015-2.04-3.338.724-4.042-1.61-4.042-1.61C4.422 18.07 3.633 17.7 3.633 17.7c-1.087-.744.084-.729.084-.729 1.205.084 1.838 1.236 1.838 1.236 1.07 1.835 2.809 1.305 3.495.998.108-.776.417-1.305.76-1.605-2.665-.3-5.466-1.332-5.466-5.93 0-1.31.465-2.38 1.235-3.22-.135-.303-.54-1.523.105-3.176 0 0 1.005-.322 3.3 1.23.96-.267 1.98-.399 3-.405 1.02.006 2.04.138 3 .405 2.28-1.552 3.285-1.23 3.285-1.23.645 1.653.24 2.873.12 3.176.765.84 1.23 1.91 1.23 3.22 0 4.61-2.805 5.625-5.475 5.92.42.36.81 1.096.81 2.22 0 1.606-.015 2.896-.015 3.286 0 .315.21.69.825.57C20.565 22.092 24 17.592 24 12.297c0-6.627-5.373-12-12-12"/>',
  ],
  microsoft: [
    '0 0 21 21',
    '<path fill="#f25022" d="M0 0h10v10H0z"/><path fill="#7fba00" d="M11 0h10v10H11z"/><path fill="#00a4ef" d="M0 11h10v10H0z"/><path fill="#ffb900" d="M11 11h10v10H11z"/>',
  ],
  apple: [
    '0 0 24 24',
    '<path fill="currentColor" d="M12.152 6.896c-.948 0-2.415-1.078-3.96-1.04-2.04.027-3.91 1.183-4.961 3.014-2.117 3.675-.546 9.103 1.519 12.09 1.013 1.454 2.208 3.09 3.792 3.039 1.52-.065 2.09-.987 3.935-.987 1.831 0 2.35.987 3.96.948 1.637-.026 2.676-1.48 3.676-2.948 1.156-1.688 1.636-3.325 1.662-3.415-.039-.013-3.182-1.221-3.22-4.857-.026-3.04 2.48-4.494 2.597-4.559-1.429-2.09-3.623-2.324-4.39-2.376-2-.156-3.675 1.09-4.61 1.09zM15.53 3.83c.843-1.012 1.4-2.427 1.245-3.83-1.207.052-2.662.805-3.532 1.818-.78.896-1.454 2.338-1.273 3.714 1.338.104 2.715-.688 3.559-1.701"/>',
  ],
}

function isMarked(kind: string): kind is MarkedKind {
  return Object.hasOwn(drawings, kind)
}

/** The mark of a provider, or its initial. Decorative: its name stands next to it. */
export function providerMark({
  kind,
  id,
  name,
}: {
  readonly kind: string
  readonly id: string
  readonly name: string
}): Html {
  if (!isMarked(kind))
    return html`<span class="glyph tile c${tileColour(id)}" aria-hidden="true">${initialOf(name)}</span>`
  const [box, content] = drawings[kind]
  return rendered(
    `<svg class="glyph" aria-hidden="true" viewBox="${box}" width="20" height="20">${content}</svg>`,
  )
}
