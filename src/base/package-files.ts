/** Where this package is: a clone has its modules in `src/`, the built package has them bundled in `dist/`. */

/** Whether this is the built package. All of its chunks are in `dist/` itself, so that `./` is the same for each. */
export const isBuilt = !import.meta.url.endsWith('.ts')

/** The folder of Portico's own modules. */
export const ownFolder = new URL(isBuilt ? './' : '../', import.meta.url)

/** The folder of package.json, LICENSE and docs/. */
export const packageFolder = new URL('../', ownFolder)
