// `npm run check`: everything that can be checked without running the tests.
import { capture, chosenNode, install, root, say, sourceEnvironment, tool } from './node.mjs'

await install()
const env = sourceEnvironment()
// The pinned Node exists only after the installation.
const node = chosenNode()

/** The checks: a name, a command with its arguments, and what to do if it fails. */
const checks = [
  ['types', tool('tsc'), ['-p', '.'], 'Fix the types.'],
  // Without the types of packages that only the tests use.
  ['types of the package', tool('tsc'), ['-p', 'tsconfig.build.json', '--noEmit'], 'Fix the types.'],
  // Adds the types of the DOM, and uses this clone's sources.
  [
    'types of examples/react',
    tool('tsc'),
    ['-p', 'examples/react', '--customConditions', 'portico-source', '--types', 'vite/client,node'],
    'Fix the types.',
  ],
  [
    'format and lint',
    tool('biome'),
    ['check', '--error-on-warnings', '.'],
    '`node_modules/.bin/biome check --write .` fixes most of it.',
  ],
  ['layers', node, ['scripts/layers.ts'], 'src/layers.ts says which module may import which.'],
  ['unused code', tool('knip'), ['--no-progress'], 'Remove what is unused.'],
  [
    'generated files',
    node,
    ['scripts/generated.ts', '--check'],
    '`npm run generate` updates them; review the difference before you commit it.',
  ],
]

const failed = []

async function runCheck([name, command, args, advice]) {
  const { code, output } = await capture(command, args, {
    cwd: root,
    env,
    shell: process.platform === 'win32',
  })
  say(`${code === 0 ? '✔' : '✖'} ${name}`)
  if (code === 0) return
  failed.push(name)
  say(`${output.trim()}\n${advice}\n`)
}

/** Runs the remaining checks one after the other. */
async function runRemaining() {
  for (let check = checks.shift(); check; check = checks.shift()) await runCheck(check)
}

// Two at a time, for two cores.
await Promise.all([runRemaining(), runRemaining()])
say(failed.length === 0 ? 'All checks passed.' : `Failed: ${failed.join(', ')}.`)
process.exitCode = failed.length === 0 ? 0 : 1
