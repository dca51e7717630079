/** The reference model, read from the sources: no build and no flag is needed to test with it. */
import { registerHooks } from 'node:module'

const sources = new URL('../../src/index.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'portico' ? sources : specifier, context),
})

const { default: blog } = await import('../../examples/blog/model.ts')
export default blog
