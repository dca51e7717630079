/// <reference path="./oidc-provider.d.ts" />
/** Loads oidc-provider without the warning that it prints on releases of Node that are not yet LTS. */
const warning = 'oidc-provider WARNING: Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.'

/** Suppresses exactly this warning while `work` runs. */
async function withoutWarning<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console
  const filteredWarn = (...messages: unknown[]) => {
    // On a terminal the text is coloured.
    if (messages.length !== 1 || !String(messages[0]).includes(warning)) warn.apply(console, messages)
  }
  console.warn = filteredWarn
  try {
    return await work()
  } finally {
    if (console.warn === filteredWarn) console.warn = warn
  }
}

const library = await withoutWarning(() => import('oidc-provider'))

export const Provider = library.default
export type Provider = InstanceType<typeof Provider>
export const { errors, interactionPolicy } = library
