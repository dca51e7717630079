/** The files of `portico/client` as they are built, for projects that do not have the package. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isBuilt, ownFolder, packageFolder } from '../../base/package-files.ts'
import { DocumentError } from './errors.ts'

/** The folder that they are written to, next to the file of types. */
export const standaloneFolder = 'portico-client'

/** The types that the package infers from a model. Generated types do not need them, so this module is replaced. */
const modelTypes = 'client/types/model.d.ts'
const withoutModel = `/** The types that a client can have. */
import type { ApiTypes } from './api.ts'
export type ApiSource = ApiTypes
export type ApiOf<T> = T extends ApiTypes ? T : never
`

/** Texts by path within the folder. Throws a `DocumentError` if the package is not built. */
export function standaloneFiles(): ReadonlyMap<string, string> {
  if (!isBuilt) {
    throw new DocumentError(
      '`--standalone` needs the package as it is built: run `npm run build`, then `dist/bin.js`.',
    )
  }
  const license = readFileSync(new URL('LICENSE', packageFolder), 'utf8')
  return new Map([...withImports('client.js'), ...withImports('client.d.ts'), ['LICENSE', license]])
}

/** A built file, and all files that it imports, directly or indirectly. */
function withImports(entry: string): ReadonlyMap<string, string> {
  const ending = entry.slice(entry.indexOf('.'))
  const files = new Map<string, string>()
  const pending = [entry]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (files.has(path)) continue
    const file = new URL(path, ownFolder)
    const text = path === modelTypes ? withoutModel : readFileSync(file, 'utf8')
    files.set(path, text)
    for (const [, specifier = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
      const target = new URL(specifier.replace(/\.(?:js|ts)$/, ending), file)
      pending.push(fileURLToPath(target).slice(fileURLToPath(ownFolder).length).replaceAll('\\', '/'))
    }
  }
  return files
}
