/** The pages of one’s own keys, apps and providers. */

export const items = `.glyph { flex: none; width: 1.25rem; height: 1.25rem; vertical-align: 0 }
.glyph.tile { border-radius: .3125rem; font-size: .8125rem }
.providers button { padding-inline: .75rem }
.icon svg.glyph { color: var(--text) }
.stated { display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center }
.stated .state { margin: 0 }
.links { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); gap: .75rem; margin: 0 0 1rem }
.links form { margin: 0 }
.links button { width: 100% }
.settings { margin: 0 0 1.25rem }
details.settings > summary { width: auto; font-size: 1rem; font-weight: 600; color: var(--text) }
details.settings[open] > summary { margin-bottom: 1rem }
.settings > :last-child { margin-bottom: 0 }
`
