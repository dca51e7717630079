/** Pages to read: the documentation, and the mails of `portico dev`. */

export const reading = `.reading h1 { margin: 0 0 1rem; font-size: 2.125rem; line-height: 1.2; letter-spacing: -.02em }
main.wide { max-width: 70rem; margin: 0 auto; padding: 3rem 1.5rem 5rem }
main.wide > h2 { margin: 3rem 0 1rem; font-size: 1.25rem; letter-spacing: -.01em }
.reading .hero { max-width: 44rem; margin: 1rem 0 2.5rem }
.reading .hero h1 { margin: 0 0 .75rem; font-size: clamp(2rem, 1.4rem + 2.5vw, 3rem); line-height: 1.1; letter-spacing: -.025em }
.hero p { margin: 0; font-size: 1.125rem; color: var(--faint) }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); gap: 1rem; margin: 0; padding: 0; list-style: none }
.cards li { display: grid }
:is(.cards, .neighbours) a { display: flex; flex-direction: column; gap: .25rem; padding: 1rem 1.125rem; border: 1px solid var(--line); border-radius: .75rem; color: var(--text); text-decoration: none; background: var(--ground); overflow-wrap: anywhere }
:is(.cards, .neighbours) strong { font-size: 1rem; line-height: 1.35 }
:is(.cards, .neighbours) span { font-size: .875rem; line-height: 1.5; color: var(--faint) }
:is(.cards, .neighbours) a:hover { border-color: var(--accent); background: var(--tint) }
.cards.large { grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)) }
.cards.large a { padding: 1.5rem; min-height: 8.5rem }
.cards.large strong { font-size: 1.125rem }
.steps { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.35fr); gap: 2.5rem; align-items: start }
.steps ol { margin: 0; padding: 0; list-style: none; counter-reset: step }
.steps li { position: relative; padding: 0 0 1.5rem 3rem; counter-increment: step }
.steps li::before { content: counter(step); position: absolute; left: 0; top: 0; display: grid; place-items: center; width: 2rem; height: 2rem; border-radius: 50%; font-size: .875rem; font-weight: 700; color: var(--on-accent); background: var(--accent) }
.steps h2 { margin: 0 0 .25rem; font-size: 1rem; line-height: 2 }
.steps p { margin: 0; color: var(--faint); overflow-wrap: anywhere }
.steps code { font: .9375em var(--mono) }

/* Samples in several languages, switched without a script. */
.samples, .answer { position: relative; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .75rem; overflow: hidden; min-width: 0; background: var(--raised) }
.samples + .answer { margin-top: 1rem }
.answer figcaption { padding: .625rem 1.125rem; font-size: .875rem; color: var(--faint); border-bottom: 1px solid var(--line) }
.reading :is(.samples, .answer) pre { margin: 0; border: 0; border-radius: 0; background: transparent }
.answer pre { max-height: 22rem; overflow: auto }
:is(.samples, .answer) pre:focus-visible { outline-offset: -3px }
.samples legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.samples input { position: absolute; opacity: 0 }
.samples .tabs { display: flex; flex-wrap: wrap; gap: 0 1.25rem; padding: 0 1.125rem; border-bottom: 1px solid var(--line) }
.samples label { padding: .75rem 0 .625rem; font-size: .875rem; color: var(--faint); border-bottom: 2px solid transparent; cursor: pointer }
.samples pre { display: none }
.samples:has(.t0:checked) .l0, .samples:has(.t1:checked) .l1, .samples:has(.t2:checked) .l2, .samples:has(.t3:checked) .l3 { color: var(--text); font-weight: 600; border-color: var(--accent) }
.samples:has(.t0:checked) .p0, .samples:has(.t1:checked) .p1, .samples:has(.t2:checked) .p2, .samples:has(.t3:checked) .p3 { display: block }
.samples:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px }

/* Guides: their list, the text, its headings. */
.columns { display: grid; grid-template-columns: 16rem minmax(0, 1fr) 14rem; max-width: 92rem; margin: 0 auto }
.guides, .toc { position: sticky; top: var(--bar); align-self: start; max-height: calc(100vh - var(--bar)); overflow-y: auto; padding: 2rem 1rem 2rem 1.5rem; font-size: .9375rem; line-height: 1.4 }
.guides .up { display: none }
:is(.guides, .toc) h2 { margin: 1.5rem 0 .5rem; padding: 0 .75rem; font-size: .8125rem; font-weight: 600; color: var(--text) }
.guides .up + h2, .toc h2:first-child { margin-top: 0 }
:is(.guides, .toc) ul { margin: 0; padding: 0; list-style: none }
.guides a { display: block; padding: .375rem .75rem; border-radius: .5rem; color: var(--faint); text-decoration: none }
.guides a:hover { color: var(--text); background: var(--raised) }
.guides [aria-current] { font-weight: 600; color: var(--text); background: var(--tint); box-shadow: inset 3px 0 var(--accent) }
.toc { padding: 2.5rem 1.5rem 2rem 0; font-size: .875rem }
.toc ul { border-left: 1px solid var(--line) }
.toc a { display: block; padding: .25rem .75rem; color: var(--faint); text-decoration: none; overflow-wrap: anywhere }
.toc a:hover { color: var(--text) }
.prose { width: 100%; max-width: 50rem; margin: 0 auto; padding: 2.5rem 2rem 5rem }
.prose.broad { grid-column: 2 / -1; max-width: none }
.prose h2 { margin: 3rem 0 .75rem; padding-top: .25rem; font-size: 1.5rem; line-height: 1.3; letter-spacing: -.015em }
.prose h3 { margin: 2rem 0 .5rem; font-size: 1.1875rem; line-height: 1.35 }
.prose h4 { margin: 1.5rem 0 .5rem; font-size: 1rem }
.prose :is(ul, ol) { padding-left: 1.375rem }
.prose li { margin-bottom: .375rem }
.prose :is(th, td) { overflow-wrap: anywhere }
.prose :not(pre) > code { padding: .125rem .3125rem; border: 1px solid var(--line); border-radius: .3125rem; font: .875em/1.4 var(--mono); background: var(--raised) }
.prose a code { color: inherit }
.reading pre { margin: 0 0 1.25rem; padding: 1rem 1.125rem; border: 1px solid var(--line); border-radius: .75rem; overflow-x: auto; font: .8438rem/1.65 var(--mono); background: var(--raised); tab-size: 2 }
.reading pre code { font: inherit; overflow-wrap: normal }
.scrolled { margin: 0 0 1.25rem; overflow-x: auto }
.reading table { border-collapse: collapse; width: 100%; font-size: .9375rem }
.reading :is(th, td) { padding: .625rem 1rem .625rem 0; text-align: start; vertical-align: top; border-bottom: 1px solid var(--line) }
.reading thead th { font-size: .8125rem; color: var(--faint) }
.reading td:first-child { min-width: 7rem }
.errors :is(th, td):nth-child(-n + 2) { white-space: nowrap }
.errors td:nth-child(3) { min-width: 14rem }
tr:target { background: var(--tint) }
.neighbours { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 4rem }
.neighbours [rel="next"] { grid-column: 2; text-align: right }
.reading dl { display: grid; grid-template-columns: max-content 1fr; gap: .375rem 1.25rem }
.reading dt { color: var(--faint) }
.reading dd { margin: 0 }

/* Highlighted code. */
code .comment { color: var(--faint); font-style: italic }
code .text { color: var(--green) }
code .number { color: var(--orange) }
code .keyword { color: var(--purple) }
code .name { color: var(--blue) }

/* The mails of portico dev. */
.local { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 1rem }
.local [aria-current] { color: var(--text); text-decoration: none; box-shadow: 0 2px 0 var(--accent) }
.mails :is(td, th) { padding-right: 1rem }
.subject { font-weight: 600; overflow-wrap: anywhere }
.preview { height: 45rem; min-height: 15rem; max-width: 100%; overflow: hidden; resize: both; border: 1px solid var(--line); border-radius: .75rem }
.preview iframe { display: block; width: 100%; height: 100%; border: 0 }
.reading pre.plain { white-space: pre-wrap; overflow-wrap: anywhere }

@media (max-width: 75rem) {
  .columns { grid-template-columns: 15rem minmax(0, 1fr) }
  .toc { display: none }
}
@media (max-width: 56rem) {
  .columns { display: block }
  .guides { position: static; max-height: none; padding: 1rem 1rem 0 }
  .guides nav > :not(.up) { display: none }
  .guides .up { display: inline-block; padding: .25rem 0 }
  .prose { padding: 1rem 1rem 4rem }
  main.wide { padding: 1.5rem 1rem 4rem }
  .steps { grid-template-columns: minmax(0, 1fr) }
  :is(.errors, .mails) thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  :is(.errors, .mails) :is(tbody, tr, th, td) { display: block }
  :is(.errors, .mails) tr { padding: .75rem 0; border-bottom: 1px solid var(--line) }
  .reading :is(.errors, .mails) :is(th, td) { padding: .125rem 0; border: 0 }
}
@media (max-width: 30rem) {
  .reading h1 { font-size: 1.75rem }
  .neighbours { grid-template-columns: 1fr }
  .neighbours [rel="next"] { grid-column: 1 }
  .preview { height: 35rem }
}
@media print {
  .guides, .toc, .neighbours { display: none }
  .columns { display: block }
}
`
