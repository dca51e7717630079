/** Text, links, and what pages share before any part of them. */

/** Pages whose content no other library draws. Without specificity. */
export const own = ':where(body:not(.tool))'

export const base = `*, ::before, ::after { box-sizing: border-box }
:root { --bar: 3.75rem; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: calc(var(--bar) + 1.5rem) }
body { margin: 0; font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--text); background: var(--canvas) }
body:is(.reading, .tool) { line-height: 1.6; background: var(--ground) }
a { color: var(--accent); text-underline-offset: .15em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem }
${own} h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.015em; text-wrap: balance; overflow-wrap: anywhere }
${own} h2 { margin: 0 0 .5rem; font-size: 1.0625rem; line-height: 1.4; overflow-wrap: anywhere }
${own} h3 { margin: 0 0 .5rem; font-size: 1rem }
${own} :is(p, ul, ol, dl, figure) { margin: 0 0 1rem }
${own} :is(ul, ol) { padding-left: 1.25rem }
${own} :is(li, dd, td, p, summary) { overflow-wrap: anywhere }
${own} hr { margin: 1.5rem 0; border: 0; border-top: 1px solid var(--line) }
${own} code { font: .9375em var(--mono); overflow-wrap: anywhere }
${own} svg { flex: none; vertical-align: -.1875em }
.skip { position: absolute; left: -999px; z-index: 30; padding: .5rem 1rem; background: var(--ground) }
.skip:focus { left: .5rem; top: .5rem }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.faint { color: var(--faint) }
.small { font-size: .875rem }
.nowrap { white-space: nowrap }
[hidden] { display: none !important }
@media (prefers-reduced-motion: no-preference) { ${own} :is(a, button, summary, input) { transition: background-color .12s, border-color .12s, color .12s, box-shadow .12s } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important } }
`

/** Tiles with a logo or an initial, and the brand. */
export const tiles = `.tile {
  position: relative; flex: none; display: inline-grid; place-items: center; overflow: hidden; width: 2.5rem; height: 2.5rem; border-radius: .625rem;
  font-size: 1.125rem; font-weight: 700; line-height: 1; text-transform: uppercase; color: var(--on-accent); background: var(--tile, var(--accent)); forced-color-adjust: none
}
.tile.small { width: 2rem; height: 2rem; border-radius: .5rem; font-size: .9375rem }
.tile.large { width: 4rem; height: 4rem; border-radius: 1rem; font-size: 1.75rem }
.tile.round { border-radius: 50% }
.tile.logo { background: none }
.tile img { width: 100%; height: 100%; object-fit: contain }
/* Drawn where the image cannot be loaded, and only there. */
.tile img::after { content: attr(data-initial); position: absolute; inset: 0; display: grid; place-items: center; background: var(--tile, var(--accent)) }
.brand { display: flex; align-items: center; gap: .625rem; min-width: 0; font-size: 1.0625rem; font-weight: 700; letter-spacing: -.01em; color: var(--text); text-decoration: none }
.brand > :last-child { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
`
