/// <reference path="./oidc-provider.d.ts" />
/** oidc-provider, loaded without the sentence that it says on every Node that is no LTS release yet. */
const sentence = 'oidc-provider WARNING: Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.'

/** `console.warn` without exactly this sentence, while `work` runs. */
async function withoutSentence<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console
  const quieter = (...said: unknown[]) => {
    // On a terminal it is coloured.
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
