// `npm run mutants [file or folder …]`: checks that the tests detect plausible mistakes; see scripts/mutants/main.ts.
import { serveDatabases } from './databases.mjs'
import { chosenNode, install, run, sourceEnvironment } from './node.mjs'
import { selectTests } from './selection.mjs'

const usage = `Usage: npm run mutants [-- --text | FILE_OR_FOLDER …], e.g. \`npm run mutants -- src/engine/plan\`.
Without a file: all mutants, which takes hours. --text: only whether each still matches the sources.`
const option = process.argv.slice(2).find(arg => arg.startsWith('-') && arg !== '--text')
if (option === '-h' || option === '--help') {
  console.log(usage)
  process.exit()
}
if (option !== undefined) {
  console.error(`Unknown option: ${option}\n${usage}`)
  process.exit(1)
}

await install()
const node = chosenNode()
if (!process.argv.includes('--text')) await selectTests(node, [])
const databases = await serveDatabases(node)
const env = { PORTICO_MAX_DELAY: '60 s', ...sourceEnvironment(), PORTICO_TEST_SERVERS: databases.path }
process.exitCode = await run(
  node,
  ['--disable-warning=ExperimentalWarning', 'scripts/mutants/main.ts', ...process.argv.slice(2)],
  { env },
)
await databases.stop()
