/** Scalar, which renders the OpenAPI document: one script, which this package has as a text in its module. */
import { runInNewContext } from 'node:vm'
import type { PackageFile } from '../static-assets.ts'

/** A library in it tries whether `eval` is allowed. The policy of the page forbids it, and browsers report the try. */
const evalProbe = 'try{return Function(``),!0}catch{return!1}'

/** The script in the text of the package's module. Throws where a later version keeps it in another place. */
function standaloneIn(module: string): string {
  const [, literal] = /^var standalone_default = ("(?:[^"\\\n]|\\.)*");$/m.exec(module) ?? []
  if (literal === undefined) throw new Error('@scalar/fastify-api-reference has its script in another place.')
  // A literal and nothing else, by the pattern. JSON.parse refuses its control characters.
  const script: unknown = runInNewContext(literal)
  return String(script)
    .replace(evalProbe, 'return!1')
    .replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n')
}

export const renderer: PackageFile = {
  name: 'scalar.js',
  packageName: '@scalar/fastify-api-reference',
  file: 'dist/index.js',
  extract: standaloneIn,
}
