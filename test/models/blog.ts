/** The reference model, imported from the sources, so that tests need no build and no flag. */
import { createRequire, registerHooks } from 'node:module'

const sources = new URL('../../src/index.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'portico' ? sources : specifier, context),
})

// Not `await import`: `test/together.ts` requires test files, and a module that awaits cannot be required.
const require = createRequire(import.meta.url)
const {
  default: blog,
}: typeof import('../../examples/blog/model.ts') = require('../../examples/blog/model.ts')
export default blog
