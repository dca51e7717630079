// `npm run mutants [file or folder …]`: checks that the tests detect plausible mistakes; see scripts/mutants/main.ts.
import { serveDatabases } from './databases.mjs'
import { chosenNode, install, run, sourceEnvironment } from './node.mjs'

await install()
const node = chosenNode()
const databases = await serveDatabases(node)
const env = { PORTICO_MAX_DELAY: '60000', ...sourceEnvironment(), PORTICO_TEST_SERVERS: databases.path }
process.exitCode = await run(
  node,
  ['--disable-warning=ExperimentalWarning', 'scripts/mutants/main.ts', ...process.argv.slice(2)],
  { env },
)
await databases.stop()
