/** Cards, lists and marks that pages are made of. */

export const parts = `.card { margin: 0 0 1.25rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--ground) }
.centred .card { padding: 1rem 1.25rem }
.card h2, .card h3 { margin: 0 0 .25rem; font-size: 1.0625rem }
.card form { margin-top: .875rem }
.card form > [type=hidden] + .buttons { margin-top: 0 }
.card > p:not(:last-child) { margin-bottom: .75rem }
.card > :first-child { margin-top: 0 }
.card > :last-child { margin-bottom: 0 }
.card dl { display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .375rem 1.5rem; margin: .75rem 0 0; font-size: .9375rem }
.card dt { color: var(--faint) }
.card dd { margin: 0 }
.card dd > ul { margin: 0; padding: 0; list-style: none }
.heading { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; margin: 0 0 1rem }
.heading > :is(h1, h2, h3) { flex: 1 1 12rem; min-width: 0; margin: 0 }
.card > .heading { margin-bottom: .5rem }
.heading form { margin: 0 }
.app { display: flex; flex: 1 1 14rem; gap: 1rem; align-items: center; min-width: 0; margin: 0 0 1rem }
.app :is(h1, h2) { margin: 0 }
.app p { margin: 0 }
.app > :last-child { min-width: 0 }
.heading .app { margin: 0 }
.icon { flex: none; display: inline-grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: .625rem; color: var(--faint); background: var(--raised); border: 1px solid var(--line) }
.icon svg { vertical-align: 0 }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: 1.25rem; margin: 0 0 1.25rem }
.grid > .card { display: flex; flex-direction: column; margin: 0 }
.grid .card > .more { margin-top: auto; padding-top: .75rem }
.more { font-size: .9375rem }
.states { display: grid; gap: .625rem; margin: .75rem 0 0; padding: 0; list-style: none; font-size: .9375rem }
.states li { display: flex; gap: .625rem; align-items: flex-start }
.states svg { margin-top: .125rem }
.ways { padding: 0; list-style: none; gap: .75rem }
.ways > li { display: flex }
a.way { flex: 1; min-width: 0; display: flex; gap: 1rem; align-items: center; margin: 0; padding: 1rem 1.125rem; color: inherit; text-decoration: none }
a.way:hover { border-color: var(--edge) }
a.way > :nth-child(2) { flex: 1; min-width: 0; line-height: 1.35 }
a.way strong { display: block; font-weight: 600 }
a.way :is(.faint, .attention) { font-size: .875rem; overflow-wrap: anywhere }
a.way > svg { color: var(--faint) }
.identity { display: flex; gap: 1.25rem; align-items: center }
.identity > :last-child { flex: 1; min-width: 0 }
.identity p { margin: 0 }
.identity .name { font-size: 1.125rem; font-weight: 600 }
.identity .state { margin: 0 .25rem 0 0 }
.rows, .card.rows { padding: 0; list-style: none }
.rows > li { display: flex; gap: 1rem; align-items: flex-start; padding: 1.125rem 1.5rem }
.rows > li + li { border-top: 1px solid var(--line) }
.rows > li > div { flex: 1; min-width: 0 }
section > .rows { margin: 1rem 0; border: 1px solid var(--line); border-radius: .625rem }
section > .rows > li { padding: .875rem 1rem }
.rows :is(h2, h3) { margin: 0 0 .125rem }
.rows p { margin: 0; font-size: .875rem }
.rows form { margin: 0 }
.rows button.danger { border-color: var(--line) }
.rows button.danger:hover { border-color: currentcolor }
.rows code, .connected a { display: inline-block }
.connected { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .75rem 1rem; align-items: start }
.connected .app { margin: 0 }
.connected form { grid-area: 1 / 2; margin: 0 }
.connected .permissions { grid-column: 1 / -1; padding-left: 3.5rem }
.permissions { font-size: .9375rem }
.permissions ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); gap: .25rem 1rem; margin: 0; padding: 0; list-style: none }
.permissions li { position: relative; padding-left: 1.125rem }
.permissions li::before { content: ""; position: absolute; left: .125rem; top: .6em; width: .375rem; height: .375rem; border-radius: 50%; background: var(--edge) }
.permissions details { margin-top: .375rem }
.banner { display: flex; gap: 1rem; margin: 0 0 1.5rem; padding: 1rem 1.25rem; border: 1px solid var(--warning); border-radius: .75rem; background: var(--ground) }
.banner > svg { margin-top: .125rem; color: var(--warning) }
.banner > div { flex: 1; min-width: 0; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1.25rem; align-items: center }
.banner form { grid-area: 1 / 2 / 3 }
.banner h2 { margin: 0 0 .25rem; font-size: 1rem }
.banner p { margin: 0; font-size: .9375rem }
.banner form { margin: 0 }
.good { color: var(--good) }
.attention { color: var(--warning) }
.new, .state { display: inline-block; margin-left: .5rem; padding: .0625rem .5rem; border: 1px solid transparent; border-radius: 1rem; font-size: .75rem; font-weight: 600; line-height: 1.4; vertical-align: .125em; letter-spacing: .01em; white-space: nowrap }
.new { color: var(--on-accent); background: var(--accent) }
.state { color: var(--faint); border-color: currentcolor }
.state.good { color: var(--good) }
.state.bad, .state.danger { color: var(--fault) }
.empty { padding: 2rem 1rem; border: 1px dashed var(--edge); border-radius: .75rem; text-align: center; color: var(--faint) }
.secret { font: 1.125rem/1.6 ui-monospace, monospace; letter-spacing: .04em; overflow-wrap: anywhere }
.large.secret { padding: .75rem 1rem; border-radius: .5rem; font-size: 1.75rem; letter-spacing: .1em; text-align: center; background: var(--raised) }
.codes { columns: 2; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .75rem; list-style: none; font: 1rem/1.9 ui-monospace, monospace; background: var(--ground) }
.qr { width: 12rem; max-width: 100%; margin: 0 0 1rem; padding: .5rem; border: 1px solid var(--line); border-radius: .75rem; background: #fff }
.qr svg { display: block; width: 100%; height: auto }
.scopes { margin: 0 0 1rem; padding: 0 1rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--ground) }
.scopes h2 { margin: 1rem 0 .25rem; font-size: .9375rem }
.levels { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center; margin: 0; padding: .625rem 0; border-top: 1px solid var(--line) }
.scopes > .levels:first-child { border-top: 0 }
.levels legend { float: left; flex: 1 1 10rem; margin: 0 }
.levels legend .hint { margin: 0; font-weight: 400 }
.levels > div { display: flex; flex-wrap: wrap; gap: .25rem 1rem }
.levels span:not(.hint) { display: inline-flex; gap: .5rem; align-items: center; min-height: 1.75rem }
.levels input { margin: 0 }
.account main > :is(h1, .heading) { margin-bottom: .75rem }
.account main > :is(h1, .heading):not(:has(+ p:not(.note))) { margin-bottom: 1.25rem }
.account main > :is(h1, .heading) + .note { color: inherit }
.excerpt { margin: 0; padding: .75rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: .5rem; font: .8125rem/1.5 ui-monospace, monospace; background: var(--raised) }
div.weighted { padding: .25rem 1rem; border: 1px solid var(--fault); border-radius: .5rem; background: var(--ground) }
details { margin-top: .75rem }
.card form + .note { margin-top: 1rem }
details > summary { width: fit-content; cursor: pointer; color: var(--faint); font-size: .875rem }
details > summary:hover { color: var(--text) }
details[open] > summary { margin-bottom: .5rem }
@media (max-width: 30rem) {
  .card { padding: 1rem 1.125rem }
  .heading { gap: .75rem }
  .heading > :is(h2, h3) { flex-basis: 8rem }
  .heading > h1 { flex-basis: 9rem }
  .identity { gap: 1rem }
  .identity .tile.large { width: 3rem; height: 3rem; border-radius: 50%; font-size: 1.375rem }
  .levels > div { display: grid; grid-template-columns: repeat(auto-fill, minmax(7rem, auto)); width: 100% }
  .card dl { display: block }
  .rows > li { flex-wrap: wrap; padding: 1rem 1.125rem }
  .rows > li > div { flex-basis: calc(100% - 3.5rem) }
  .rows > li > form { flex: 1 0 100%; display: flex; padding-left: 3.5rem }
  .banner, .banner > div { display: block }
  .banner { padding: 1rem }
  .banner p { margin-bottom: .75rem }
  .banner > svg { float: left; margin: .125rem .625rem 0 0 }
  .connected { display: block }
  .connected .permissions { margin: .75rem 0 .875rem; padding: 0 }
  .card dd:not(:last-child) { margin-bottom: .5rem }
  .codes { columns: 1 }
}
`
