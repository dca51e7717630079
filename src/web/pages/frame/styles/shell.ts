/**
 * The shell of every page: colours, header, search. Pages whose content is drawn by another library have nothing else, so
 * these rules are complete, and name no elements of the content.
 */

export const shell = `*, ::before, ::after { box-sizing: border-box }
:root { --bar: 3.75rem; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: calc(var(--bar) + 1.5rem) }
body { margin: 0; font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--text); background: var(--canvas) }
body:is(.reading, .tool) { line-height: 1.6; background: var(--ground) }
a { color: var(--accent); text-underline-offset: .15em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem }
.skip { position: absolute; left: -999px; z-index: 30; padding: .5rem 1rem; background: var(--ground) }
.skip:focus { left: .5rem; top: .5rem }
.faint { color: var(--faint) }
[hidden] { display: none !important }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important } }
.tile {
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

/* The header of every page but the cards. */
.bar { position: sticky; top: 0; z-index: 20; display: flex; align-items: center; gap: 1.5rem; height: var(--bar); padding: 0 1.5rem; font-size: .9375rem; line-height: 1.25; background: var(--ground); border-bottom: 1px solid var(--line) }
.bar .brand { margin-right: .5rem }
.bar .brand > :last-child { max-width: 16rem }
.bar svg { flex: none }
.places { flex: 1; min-width: 0; display: flex; gap: 1rem; align-items: center }
.bar ul { display: flex; gap: 1.5rem; margin: 0; padding: 0; list-style: none }
.bar li a { display: inline-block; padding: .5rem 0; color: var(--faint); text-decoration: none; white-space: nowrap }
.bar li a:hover { color: var(--text) }
.bar [aria-current] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent) }
.bar button { display: flex; align-items: center; justify-content: flex-start; gap: .5rem; min-height: 2.25rem; padding: 0 .75rem; border: 1px solid var(--line); border-radius: .5rem; font: inherit; font-size: .875rem; color: var(--faint); background: var(--raised); cursor: pointer }
.bar button:hover { filter: none; border-color: var(--edge) }
.bar .search { width: 15rem; padding-right: .5rem }
.bar .search span { flex: 1; text-align: left }
.bar .open { display: none; color: var(--text) }
kbd { padding: .0625rem .375rem; border: 1px solid var(--line); border-radius: .25rem; font: .75rem/1.4 var(--mono); background: var(--ground) }
.enter { padding: .375rem .875rem; border-radius: .5rem; font-weight: 600; white-space: nowrap; text-decoration: none; color: var(--on-accent); background: var(--accent) }
.enter:hover { filter: brightness(.93) }
.session { display: flex; gap: 1rem; align-items: center; min-width: 0 }
.session > a { display: flex; gap: .625rem; align-items: center; min-width: 0; font-weight: 600; color: var(--text); text-decoration: none }
.session > a > :last-child { max-width: 10rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.session form { margin: 0 }

/* The colours of code. */
:root { --green: #0a6b3d; --red: #b3140f; --yellow: #7d5a00; --blue: #1552a8; --orange: #9a4a00; --purple: #7a2fb8 }
@media (prefers-color-scheme: dark) { :root { --green: #85d6a5; --red: #ff9088; --yellow: #f0cf74; --blue: #8fbcff; --orange: #f2b577; --purple: #cfa6ff } }

/* The search. */
#search { width: min(42rem, calc(100vw - 2rem)); max-height: 80vh; margin: 10vh auto auto; padding: 0; border: 1px solid var(--line); border-radius: .875rem; color: var(--text); background: var(--ground); box-shadow: 0 1.5rem 4rem rgb(0 0 0 / .35); overflow: hidden }
#search[open] { display: flex; flex-direction: column }
#search::backdrop { background: rgb(0 0 0 / .45) }
#search form { display: flex; gap: .75rem; align-items: center; padding: .75rem; border-bottom: 1px solid var(--line) }
#search input { flex: 1; min-width: 0; min-height: 0; height: 2.75rem; padding: 0 .75rem; border: 1px solid transparent; border-radius: .5rem; font: inherit; font-size: 1.0625rem; color: inherit; background: transparent }
#search input::placeholder { color: var(--faint); opacity: 1 }
#search .plain { min-height: 0; height: 2.25rem; padding: 0 .875rem; border: 1px solid var(--edge); border-radius: .5rem; font: inherit; font-size: .875rem; color: var(--text); background: transparent; cursor: pointer }
#search > p { margin: 0; padding: .5rem 1.5rem; font-size: .8125rem }
#search ul { flex: 1; margin: 0; padding: 0 .75rem .75rem; list-style: none; overflow-y: auto }
#search li { cursor: pointer; display: grid; gap: .125rem; padding: .625rem .75rem; border-radius: .5rem; color: var(--text); overflow-wrap: anywhere }
#search small { color: var(--faint) }
#search li span { font-size: .875rem; color: var(--faint) }
#search [aria-selected="true"], #search li:hover { background: var(--tint) }

/* Tools fill the window below the header. */
body.tool { min-height: 100vh }
noscript main { padding: 2rem }

@media (max-width: 72rem) {
  .bar :is(.search, .session button) { min-height: 2.5rem; padding: 0 .625rem }
  .bar .search { width: 2.5rem; justify-content: center }
  .bar .search kbd { display: none }
  .bar .search span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
}
@media (max-width: 56rem) {
  :root { --bar: 6.5rem }
  .bar { flex-wrap: wrap; gap: 0 .75rem; align-content: space-between; padding: .5rem 1rem 0 }
  .bar .brand { flex: 1; margin: 0 }
  .places { order: 1; flex: 1 0 100%; overflow-x: auto }
  .bar ul { gap: 1.25rem }
  .bar .open { display: flex; flex: none; min-height: 2rem; margin-bottom: .25rem }
  .session button { width: 2.5rem }
  .session button span, .session > a > :last-child { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .session { gap: .75rem }
}
`
