// `npm run generate`: writes the files that are made from the sources.
import { install, pinnedNode, run, sourceEnvironment } from './node.mjs'

await install()
process.exitCode = await run(pinnedNode(), ['scripts/generated.ts', ...process.argv.slice(2)], {
  env: sourceEnvironment(),
})
