// `npm run generate`: writes the files that are generated from the sources.
import { chosenNode, install, run, sourceEnvironment } from './node.mjs'

await install()
process.exitCode = await run(chosenNode(), ['scripts/generated.ts', ...process.argv.slice(2)], {
  env: sourceEnvironment(),
})
