/** Text, and what pages share before any part of them. */

export const base = `h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.015em; text-wrap: balance; overflow-wrap: anywhere }
h2 { margin: 0 0 .5rem; font-size: 1.0625rem; line-height: 1.4; overflow-wrap: anywhere }
h3 { margin: 0 0 .5rem; font-size: 1rem }
:is(p, ul, ol, dl, figure) { margin: 0 0 1rem }
:is(ul, ol) { padding-left: 1.25rem }
:is(li, dd, td, p, summary) { overflow-wrap: anywhere }
hr { margin: 1.5rem 0; border: 0; border-top: 1px solid var(--line) }
code { font: .9375em var(--mono); overflow-wrap: anywhere }
svg { flex: none; vertical-align: -.1875em }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.small { font-size: .875rem }
.nowrap { white-space: nowrap }
@media (prefers-reduced-motion: no-preference) { :is(a, button, summary, input) { transition: background-color .12s, border-color .12s, color .12s, box-shadow .12s } }
`
