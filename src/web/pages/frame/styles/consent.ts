/** Where users decide about an app. */

export const consent = `.who { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; margin: 0 0 1.25rem; padding: .625rem .75rem; border-radius: .75rem; font-size: .9375rem; background: var(--raised) }
.who p { flex: 1 1 10rem; margin: 0 }
.who form { margin: 0 }
.permits > legend { margin-bottom: .75rem; font-size: 1.0625rem }
.permits h2 { margin: 1rem 0 0; padding-bottom: .375rem; font-size: .8125rem; font-weight: 600; color: var(--faint); border-bottom: 1px solid var(--line) }
.permit { padding: .625rem 0; border-bottom: 1px solid var(--line) }
.permit .choice { padding: 0 }
.permit .choice + .choice { border: 0 }
.permit label { flex: 1; font-weight: 500 }
.permit label .hint { font-weight: 400 }
.permit :is(details, .left) { margin: .25rem 0 0 2rem }
.permit details[open] { margin-bottom: .25rem }
.permit .left { padding-top: .25rem }
.permit:has(> .choice > input:checked) .left { display: none }
.permit dl, .centred main > details dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0; font-size: .875rem }
:is(.permit, .centred main > details) dt { color: var(--faint) }
:is(.permit, .centred main > details) dd { margin: 0 }
.going { display: flex; gap: .75rem; align-items: center; margin: 0 0 1rem; padding: .75rem; border: 1px solid var(--line); border-radius: .75rem; font-size: .9375rem }
.going > :last-child { min-width: 0 }
.limits { display: grid; gap: .5rem; margin: 1.25rem 0 1rem; padding: 0; list-style: none; font-size: .875rem; color: var(--faint) }
.limits li { display: flex; gap: .75rem }
`
