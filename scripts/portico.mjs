// `npm start` and `npm run portico -- …`: installs what is missing, builds what is stale, and runs the command.
import { join } from 'node:path'
import { build, isBuilt } from './build.mjs'
import { chosenNode, prepareToServe, root, run, say } from './node.mjs'

await prepareToServe()
if (!isBuilt()) {
  say('Building …')
  await build()
}
const environment = { PORTICO_MODEL: join('examples', 'blog', 'model.ts'), ...process.env }
const bin = join(root, 'dist', 'bin.js')
process.exitCode = await run(chosenNode(), [bin, ...process.argv.slice(2)], { env: environment })
