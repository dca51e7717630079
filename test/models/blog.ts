/** The reference model, imported from the sources, so that tests need no build and no flag. */
import { registerHooks } from 'node:module'

const sources = new URL('../../src/index.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'portico' ? sources : specifier, context),
})

const { default: blog } = await import('../../examples/blog/model.ts')
export default blog
