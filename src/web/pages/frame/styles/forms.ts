/** Fields, buttons, and what is said about them. */
export const forms = `main > form { margin: 0 0 1rem }
.field { margin: 0 0 1.125rem }
.field label, .field .label { display: block; margin-bottom: .375rem; font-size: .9375rem; font-weight: 600 }
.hint { display: block; margin-bottom: .375rem; color: var(--faint); font-size: .875rem }
.fault { display: block; margin-bottom: .375rem; color: var(--fault); font-size: .9375rem; font-weight: 600 }
:where(input:not([type=checkbox]):not([type=radio]), select, textarea) {
  width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem;
  font: inherit; color: inherit; background: var(--field)
}
:where(input:not([type=checkbox]):not([type=radio]), select, textarea):hover { border-color: var(--text) }
:where(input, select, textarea):focus-visible { outline-offset: 0; border-radius: .5rem }
[aria-invalid=true] { border: 2px solid var(--fault) }
input.code { font: 1.375rem/1.4 ui-monospace, monospace; letter-spacing: .2em; text-transform: uppercase }
:is(input[type=checkbox], input[type=radio]) { flex: none; width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; accent-color: var(--accent) }
.choice { display: flex; gap: .75rem; align-items: flex-start; padding: .5rem 0 }
.choice + .choice { border-top: 1px solid var(--line) }
.choice label { font-weight: 400 }
.choice .hint { margin: .125rem 0 0 }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; min-width: 0 }
legend { max-width: 100%; padding: 0; overflow-wrap: anywhere; margin-bottom: .5rem; font-weight: 600 }
.between { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; justify-content: space-between; font-size: .9375rem }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 0 }
.centred .buttons > * { flex: 1 1 10rem }
.centred .buttons form > button { width: 100% }
.buttons.turned { flex-direction: row-reverse }
button, a.button {
  display: inline-flex; align-items: center; justify-content: center; gap: .625rem; min-height: 2.75rem; padding: .5rem 1.125rem; border: 1px solid transparent;
  border-radius: .5rem; font: inherit; font-weight: 600; line-height: 1.25; text-decoration: none; color: var(--on-accent); background: var(--accent); cursor: pointer; overflow-wrap: anywhere
}
button:hover, a.button:hover { filter: brightness(.93) }
:is(button, a.button).plain { color: var(--text); background: var(--ground); border-color: var(--edge) }
:is(button, a.button).danger { color: var(--fault); background: var(--ground); border-color: currentcolor }
:is(button, a.button):is(.plain, .danger):hover { filter: none; background: var(--hover) }
button.quiet { min-height: 0; padding: 0; border: 0; font-weight: 400; color: var(--accent); background: none; text-decoration: underline; text-underline-offset: .15em }
button.quiet:hover { filter: none; color: var(--text) }
.account main :is(button, a.button):not(.quiet) { min-height: 2.5rem }
.providers { display: grid; gap: .625rem; margin: 0 }
.providers form { margin: 0 }
.providers button { width: 100% }
.providers svg { width: 1.25rem; height: 1.25rem }
.or { display: flex; align-items: center; gap: 1rem; margin: 1.25rem 0; color: var(--faint); font-size: .875rem }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line) }
.summary, .note { margin: 0 0 1.5rem; padding: .875rem 1rem; border: 1px solid var(--line); border-left: 4px solid var(--accent); border-radius: .5rem; background: var(--ground) }
.centred .note, .card .note { background: var(--raised) }
.note.warning { border-left-color: var(--warning) }
.note.bad { border-left-color: var(--fault) }
.summary { border-left-color: var(--fault) }
.summary h2 { margin: 0 0 .25rem; font-size: 1rem }
.summary :is(ul, p), .note > :last-child { margin-bottom: 0 }
.summary a { color: var(--fault) }
.copy { display: flex; gap: .75rem; align-items: flex-end; margin: 0 0 1rem }
.copy .field { flex: 1; min-width: 0; margin: 0 }
.copy input.secret { font-size: .9375rem; letter-spacing: 0; text-overflow: ellipsis }
.code { margin: 0 0 1rem }
.code figcaption { display: flex; gap: 1rem; align-items: center; justify-content: space-between; min-height: 2.25rem; margin-bottom: .375rem; font-weight: 600 }
.account main .code button.plain:not(.quiet) { min-height: 2.25rem; padding: .25rem .75rem; font-size: .875rem }
.account main .copy button.plain:not(.quiet) { min-height: 2.75rem }
.code pre { white-space: pre-wrap; overflow-wrap: anywhere }
.fault, .summary a { white-space: pre-line }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 1.5rem; align-items: end }
.code pre { margin: 0 0 .5rem; padding: .75rem 1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; font: .875rem/1.5 ui-monospace, monospace; background: var(--field) }
.code pre code { font: inherit }
@media (max-width: 24rem) { .buttons > *, .buttons button { flex: 1 1 100% } .buttons form > button { width: 100% } .account .buttons:has(> :nth-child(3)) > * { flex-basis: 8rem } }
`
