// Models of the tests import Portico's sources. A process that runs the built package gives them the package instead: it must
// not load Portico twice.
import { registerHooks } from 'node:module'

const sources = new URL('../../../src/index.ts', import.meta.url).href
const built = new URL('../../../dist/index.js', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return found.url === sources ? next(built, context) : found
  },
})
