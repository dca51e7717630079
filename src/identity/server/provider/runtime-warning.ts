/** Suppresses one warning of oidc-provider from the moment this module is evaluated. */
const warning = 'oidc-provider WARNING: Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.'

const { warn } = console

function filteredWarn(...messages: unknown[]): void {
  // On a terminal the text is coloured.
  if (messages.length !== 1 || !String(messages[0]).includes(warning)) warn.apply(console, messages)
}

console.warn = filteredWarn

export function stopSuppressing(): void {
  if (console.warn === filteredWarn) console.warn = warn
}
