// `npm run bench`: builds the package and measures it; see bench/main.ts.
import { build, isBuilt } from './build.mjs'
import { chosenNode, install, run } from './node.mjs'

await install()
if (!isBuilt()) await build()
process.exitCode = await run(chosenNode(), ['bench/main.ts', ...process.argv.slice(2)])
