/** The files of `portico/client` as they are built, for projects that do not have the package. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DocumentError } from './errors.ts'

/** The folder that they are written to, beside the file of types. */
export const standaloneFolder = 'portico-client'

/** The types of a model are the package's: what is generated needs none of them. */
const modelTypes = 'client/types/model.d.ts'
const withoutModel = `/** What the client can be typed by. */
import type { ApiTypes } from './api.ts'
export type ApiSource = ApiTypes
export type ApiOf<T> = T extends ApiTypes ? T : never
`

/** Texts by path within the folder. Throws a `DocumentError` where the package is not built. */
export function standaloneFiles(): ReadonlyMap<string, string> {
  if (import.meta.url.endsWith('.ts')) {
    throw new DocumentError(
      '`--standalone` needs the package as it is built: run `npm run build`, then `dist/bin.js`.',
    )
  }
  const license = readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8')
  return new Map([...reached('client.js'), ...reached('client.d.ts'), ['LICENSE', license]])
}

/** A built file, and all that it imports from, directly or not. */
function reached(entry: string): ReadonlyMap<string, string> {
  const ending = entry.slice(entry.indexOf('.'))
  const folder = new URL('../', import.meta.url)
  const found = new Map<string, string>()
  const open = [entry]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue
    const file = new URL(path, folder)
    const text = path === modelTypes ? withoutModel : readFileSync(file, 'utf8')
    found.set(path, text)
    for (const [, specifier = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
      const target = new URL(specifier.replace(/\.(?:js|ts)$/, ending), file)
      open.push(fileURLToPath(target).slice(fileURLToPath(folder).length).replaceAll('\\', '/'))
    }
  }
  return found
}
