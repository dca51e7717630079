/** Scalar, which renders the OpenAPI document. The package contains its script as a string in a module. */
import { runInNewContext } from 'node:vm'
import type { PackageFile } from '../../base/static-assets.ts'

/** A library in the script tests whether `eval` is allowed. The page's policy forbids it, and browsers report the attempt. */
const evalProbe = 'try{return Function(``),!0}catch{return!1}'

/** Extracts the script from the text of the module. Throws if a later version of the package keeps it in another place. */
function extractScript(module: string): string {
  const [, literal] = /^var standalone_default = ("(?:[^"\\\n]|\\.)*");$/m.exec(module) ?? []
  if (literal === undefined) throw new Error('@scalar/fastify-api-reference has its script in another place.')
  // The pattern guarantees a string literal. JSON.parse would refuse its control characters.
  const script: unknown = runInNewContext(literal)
  return String(script)
    .replace(evalProbe, 'return!1')
    .replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n')
}

export const renderer: PackageFile = {
  name: 'scalar.js',
  packageName: '@scalar/fastify-api-reference',
  file: 'dist/index.js',
  extract: extractScript,
}
