/// <reference path="./oidc-provider.d.ts" />
/** Loads oidc-provider without the warning that it prints on releases of Node that are not yet LTS. */
const sentence = 'oidc-provider WARNING: Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.'

/** Suppresses exactly this warning while `work` runs. */
async function withoutSentence<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console
  const quieter = (...said: unknown[]) => {
    // On a terminal the text is coloured.
    if (said.length !== 1 || !String(said[0]).includes(sentence)) warn.apply(console, said)
  }
  console.warn = quieter
  try {
    return await work()
  } finally {
    if (console.warn === quieter) console.warn = warn
  }
}

const library = await withoutSentence(() => import('oidc-provider'))

export const Provider = library.default
export type Provider = InstanceType<typeof Provider>
export const { errors, interactionPolicy } = library
