/** What stands around the content of account pages, and the cards. */

export const frame = `/* Pages of an account: the menu at the side, the content. */
.account { display: grid; grid-template-columns: 15rem minmax(0, 44rem); gap: 3rem; justify-content: center; padding: 2.5rem 1.5rem 4rem }
.menu { position: static; inset: auto; display: block; width: auto; height: auto; max-width: none; margin: 0; padding: 0; border: 0; overflow: visible; color: inherit; background: none }
.menu ul { margin: 0 0 1.25rem; padding: 0; list-style: none }
.menu h2 { margin: 0 0 .375rem; padding: 0 .75rem; font-size: .8125rem; font-weight: 600; color: var(--faint) }
.menu li > a { display: flex; justify-content: flex-start; align-items: center; gap: .625rem; width: 100%; min-height: 2.25rem; padding: .375rem .75rem; border-radius: .5rem; font-size: .9375rem; font-weight: 400; color: var(--text); text-align: left; text-decoration: none; background: none }
.menu svg { color: var(--faint) }
.menu li > a:hover { background: var(--hover); filter: none }
.menu li > [aria-current] { font-weight: 600; background: var(--tint); box-shadow: inset 3px 0 var(--accent) }
.menu [aria-current] svg { color: var(--accent) }
.chip { display: flex; align-items: center; gap: .75rem; margin: 0 0 1.5rem; padding: 0 .75rem; min-width: 0 }
.chip > :last-child { min-width: 0; line-height: 1.3 }
.chip strong, .chip .faint { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.chip .faint { font-size: .875rem }
.account main > h1, .account main > .heading { margin: 0 0 .5rem }
.account main > .heading + p, .account main > h1 + p { margin-bottom: 1.5rem; color: var(--faint) }
.account main > section:not(.card) > h2 { margin-top: 2rem }

/* Everything else: a card in the middle. */
.centred { display: flex; flex-direction: column; align-items: center; gap: 1.5rem; min-height: 100vh; min-height: 100dvh; padding: clamp(1.5rem, 8vh, 5rem) 1rem 2rem }
.centred header { max-width: min(100%, 27rem) }
.centred main { width: 100%; max-width: 27rem; padding: 2rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--ground); box-shadow: var(--shadow) }
.centred.broad main, .centred.broad header { max-width: min(100%, 34rem) }
.centred main > h1, .centred main > hgroup:not(:has(.lead)) { margin-bottom: 1.25rem }
.centred main h1:has(+ .lead) { margin-bottom: .25rem }
.centred main > :last-child { margin-bottom: 0 }
.lead { margin-bottom: 1.5rem; color: var(--faint) }
.lead strong { color: var(--text); font-weight: 600 }
.centred main > .foot { margin: 1.75rem -2rem -2rem; padding: 1rem 2rem; border-top: 1px solid var(--line); border-radius: 0 0 1rem 1rem; text-align: center; font-size: .9375rem; background: var(--raised) }
.centred footer { margin-top: auto; font-size: .875rem }
.centred footer a { color: var(--faint) }
.mark { margin: 0 0 1rem }
.mark svg { display: block; color: var(--faint) }
.mark.good svg { color: var(--good) }
.mark.attention svg { color: var(--warning) }
.fold { margin-top: 1.5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
.crest { display: flex; justify-content: center; align-items: center; gap: .75rem; margin-bottom: 1.25rem; color: var(--faint) }
.crest + h1, .crest + h1 ~ p:not(.note, .chip) { text-align: center }
.crest.sign { justify-content: flex-start }

@media (max-width: 56rem) {
  .account { display: block; padding: 1.5rem 1rem 3rem }
  .menu:not(:popover-open) { display: none }
  .menu:popover-open { position: fixed; inset: var(--bar) 0 auto; width: 100%; max-height: calc(100vh - var(--bar)); max-height: calc(100dvh - var(--bar)); padding: 1.25rem .25rem; overflow: auto; background: var(--ground); border-bottom: 1px solid var(--line); box-shadow: var(--shadow) }
  .menu::backdrop { background: rgb(0 0 0 / .4) }
  .menu li > a { min-height: 2.75rem }
}
/* Browsers without popovers show the navigation above the content. */
@supports not selector(:popover-open) {
  .bar .open { display: none }
  .menu { display: block !important }
}
@media (max-width: 30rem) {
  .centred { padding-top: 1.25rem; gap: 1.25rem }
  .centred main { padding: 1.5rem 1.25rem }
  .centred main > .foot { margin: 1.5rem -1.25rem -1.5rem; padding: 1rem 1.25rem }
}
@media print { .bar, .menu { display: none } }
`
