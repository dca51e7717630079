// `npm run check`: everything that can be said of the sources without running the tests.
import { capture, chosenNode, install, root, say, sourceEnvironment, tool } from './node.mjs'

await install()
const env = sourceEnvironment()
// Only after the install is the pinned one there.
const node = chosenNode()

/** What is checked, by which command, and what to do when it fails. */
const steps = [
  ['types', tool('tsc'), ['-p', '.'], 'Mend the types.'],
  // Without the types of packages that only tests have.
  ['types of the package', tool('tsc'), ['-p', 'tsconfig.build.json', '--noEmit'], 'Mend the types.'],
  // With the DOM's, and on this clone's sources.
  [
    'types of examples/react',
    tool('tsc'),
    ['-p', 'examples/react', '--customConditions', 'portico-source', '--types', 'vite/client,node'],
    'Mend the types.',
  ],
  [
    'format and lint',
    tool('biome'),
    ['check', '--error-on-warnings', '.'],
    '`node_modules/.bin/biome check --write .` mends most of it.',
  ],
  ['layers', node, ['scripts/layers.ts'], 'src/layers.ts says who may import whom.'],
  ['unused code', tool('knip'), ['--no-progress'], 'Remove what nobody uses.'],
  [
    'generated files',
    node,
    ['scripts/generated.ts', '--check'],
    '`npm run generate` writes them anew; read the difference before you commit it.',
  ],
]

const failed = []

async function carryOut([name, command, args, advice]) {
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

/** One after the other, from what is left. */
async function carryOutRest() {
  for (let step = steps.shift(); step; step = steps.shift()) await carryOut(step)
}

// On two cores, two at once.
await Promise.all([carryOutRest(), carryOutRest()])
say(failed.length === 0 ? 'All checks passed.' : `Failed: ${failed.join(', ')}.`)
process.exitCode = failed.length === 0 ? 0 : 1
