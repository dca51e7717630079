/** The one stylesheet of the pages. */
import { grounds, palettes, type Theme } from './theme.ts'

const rules = `*, ::before, ::after { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground) }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.skip { position: absolute; left: -999px; padding: .5rem 1rem; background: var(--ground) }
.skip:focus { left: .5rem; top: .5rem }
header, main { width: 100%; max-width: 30rem; margin: 0 auto; padding: 0 1rem }
.wide header, .wide main { max-width: 46rem }
main { padding-bottom: 2.5rem }
header { display: flex; align-items: center; gap: .75rem; padding-top: 1.5rem; font-weight: 600; overflow-wrap: anywhere }
header img { width: 2.25rem; height: 2.25rem; object-fit: contain }
header a { color: inherit; text-decoration: none }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 1rem 0 0; padding: 0; list-style: none }
nav [aria-current] { color: var(--text); font-weight: 600; text-decoration: none }
h1 { margin: 1.5rem 0 1rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 2rem 0 .75rem; font-size: 1.125rem }
p, ul, ol, dl { margin: 0 0 1rem }
li, dd, td, p { overflow-wrap: anywhere }
.faint { color: var(--faint) }
.field { margin: 0 0 1rem }
.field label, .field .label { display: block; margin-bottom: .25rem; font-weight: 600 }
.hint { display: block; margin-bottom: .25rem; color: var(--faint); font-size: .875rem }
.fault { display: block; margin-bottom: .25rem; color: var(--fault); font-weight: 600 }
:where(input:not([type=checkbox]):not([type=radio]), select, textarea) {
  width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .375rem;
  font: inherit; color: inherit; background: var(--field)
}
[aria-invalid=true] { border: 2px solid var(--fault) }
input.code { font-size: 1.25rem; letter-spacing: .15em; text-transform: uppercase }
input[type=checkbox] { flex: none; width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; accent-color: var(--accent) }
.choice { display: flex; gap: .75rem; align-items: flex-start; padding: .5rem 0 }
.choice + .choice { border-top: 1px solid var(--line) }
.choice label { font-weight: 400 }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; min-width: 0 }
legend { padding: 0; margin-bottom: .25rem; font-weight: 600 }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0 1rem }
.buttons button { flex: 1 1 10rem }
button {
  min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid transparent; border-radius: .375rem;
  font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent); cursor: pointer
}
button.plain { color: var(--text); background: transparent; border-color: var(--edge) }
button.danger { color: var(--fault); background: transparent; border-color: currentcolor }
button:hover { filter: brightness(.93) }
.summary, .note { margin: 0 0 1.5rem; padding: 1rem; border: 1px solid var(--line); border-left: 4px solid var(--accent); border-radius: .375rem }
.summary { border-left-color: var(--fault) }
.summary h2 { margin: 0 0 .5rem; font-size: 1rem }
.summary ul, .note > :last-child { margin-bottom: 0 }
.summary a { color: var(--fault) }
.app { display: flex; gap: 1rem; align-items: center; margin: 1.5rem 0 1rem }
.app h1, .app h2 { margin: 0 }
.app img { flex: none; width: 3.5rem; height: 3.5rem; object-fit: contain; border-radius: .5rem }
.card { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem }
.card h2, .card h3 { margin: 0 0 .25rem; font-size: 1rem }
.card form { margin-top: .75rem }
.card > :first-child { margin-top: 0 }
.card > :last-child { margin-bottom: 0 }
.who { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .75rem 0 1.5rem }
.who p { flex: 1 1 12rem; margin: 0 }
.card dl { display: grid; grid-template-columns: auto 1fr; gap: .125rem 1rem; margin: .5rem 0 0; font-size: .875rem }
.card dt { color: var(--faint) }
.card dd { margin: 0 }
.new { display: inline-block; margin-left: .5rem; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600; color: var(--on-accent); background: var(--accent) }
.secret { font: 1.125rem/1.6 ui-monospace, monospace; letter-spacing: .04em; overflow-wrap: anywhere }
.codes { columns: 2; padding: 0; list-style: none; font: 1rem/1.8 ui-monospace, monospace }
.qr { width: 12rem; max-width: 100%; margin: 0 0 1rem; padding: .5rem; border-radius: .375rem; background: #fff }
.qr svg { display: block; width: 100%; height: auto }
.or { display: flex; align-items: center; gap: 1rem; margin: 1.5rem 0; color: var(--faint) }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line) }
/* Keys, apps, webhooks and profile */
a.button {
  display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid transparent;
  border-radius: .375rem; font-weight: 600; text-decoration: none; color: var(--on-accent); background: var(--accent)
}
a.button.plain { color: var(--text); background: transparent; border-color: var(--edge) }
a.button.danger { color: var(--fault); background: transparent; border-color: currentcolor }
a.button:hover { filter: brightness(.93) }
.buttons a.button { flex: 1 1 10rem }
.heading { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; margin: 1.5rem 0 1rem }
.heading :is(h1, h2, h3) { flex: 1 1 12rem; min-width: 0; margin: 0; overflow-wrap: anywhere }
.card > .heading { margin-bottom: .5rem }
.card dd > ul { margin: 0; padding-left: 1.125rem }
.empty { padding: 2rem 1rem; border: 1px dashed var(--edge); border-radius: .5rem; text-align: center }
.state { display: inline-block; margin-left: .5rem; padding: 0 .5rem; border: 1px solid currentcolor; border-radius: 1rem; font-size: .8125rem; font-weight: 600; color: var(--faint) }
.state.bad { color: var(--fault) }
input[type=radio] { flex: none; width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; accent-color: var(--accent) }
.choice .hint { margin: .125rem 0 0 }
.scopes { margin: 0 0 1rem; padding: 0 1rem; border: 1px solid var(--line); border-radius: .5rem }
.scopes h3 { margin: 1rem 0 .25rem; font-size: .9375rem }
.levels { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center; margin: 0; padding: .625rem 0; border-top: 1px solid var(--line) }
.levels legend { float: left; flex: 1 1 14rem; margin: 0 }
.levels legend .hint { margin: 0; font-weight: 400 }
.levels > div { display: flex; flex-wrap: wrap; gap: .25rem 1rem }
.levels span:not(.hint) { display: inline-flex; gap: .5rem; align-items: center; min-height: 1.75rem }
.levels input { margin: 0 }
div.weighted { padding: .25rem 1rem; border: 1px solid var(--fault); border-radius: .5rem }
.copy { display: flex; gap: .75rem; align-items: flex-end; margin: 0 0 1rem }
.copy .field { flex: 1; min-width: 0; margin: 0 }
.copy input.secret { font-size: .9375rem; letter-spacing: 0; text-overflow: ellipsis }
.code { margin: 0 0 1rem }
.code figcaption { margin-bottom: .25rem; font-weight: 600 }
.code pre { margin: 0 0 .5rem; padding: .75rem 1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .375rem; font: .875rem/1.5 ui-monospace, monospace; background: var(--field) }
.excerpt { margin: .5rem 0 0; padding: .75rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: .375rem; font: .8125rem/1.5 ui-monospace, monospace }
summary { cursor: pointer }
/* */
[hidden] { display: none !important }
@media (max-width: 24rem) { .card dl { display: block } .card dd:not(:last-child) { margin-bottom: .375rem } .codes { columns: 1 } .buttons button { flex-basis: 100% } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important } }
`

const neutral = {
  light: {
    text: '#16181d',
    faint: '#545a66',
    line: '#d8dbe1',
    edge: '#7a808c',
    field: '#ffffff',
    fault: '#b3140f',
  },
  dark: {
    text: '#eceef2',
    faint: '#a8aeb9',
    line: '#343943',
    edge: '#7f8694',
    field: '#1d2026',
    fault: '#ff9088',
  },
}

function variables(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `--${name}: ${value}`)
    .join('; ')
}

/** The colours of a theme as custom properties; text on every ground has a contrast of 4.5 or more. */
export function themeVariables(theme: Theme): string {
  const colours = palettes(theme)
  const of = (mode: 'light' | 'dark') =>
    variables({
      ground: grounds[mode],
      ...neutral[mode],
      accent: colours[mode].accent,
      'on-accent': colours[mode].onAccent,
    })
  return `:root { color-scheme: light dark; ${of('light')} }
@media (prefers-color-scheme: dark) { :root { ${of('dark')} } }
`
}

/** The stylesheet of a theme. */
export function stylesheet(theme: Theme): string {
  return themeVariables(theme) + rules
}
