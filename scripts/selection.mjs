// Chooses the test files of a run, and finds or installs what they need and npm does not provide, before the first test. Runs
// on the machine's own Node, from version 20.
import { join } from 'node:path'
import { installPackages } from './debian.mjs'
import { capture, root, say } from './node.mjs'

/** What test/selection.ts prints. Ends the process if an argument names no test. `node` runs TypeScript. */
async function select(node, args) {
  const program = join(root, 'test', 'selection.ts')
  const { code, output } = await capture(node, ['--disable-warning=ExperimentalWarning', program, ...args])
  if (code === 0) return JSON.parse(output)
  say(output)
  process.exit(1)
}

/** The sentence about test files that are left out; undefined if none is. */
function leftOutText({ files, leftOut, missing }) {
  if (leftOut === 0) return undefined
  const count = ({ title, files }) => `${title} (${files})`
  const packages = missing.map(program => program.package).join(' ')
  return (
    `${leftOut} of ${files.length + leftOut} test files are left out, for lack of ${missing.map(count).join(', ')}. ` +
    `To get them: as root on Debian, \`apt install ${packages}\`; CONTRIBUTING.md names other ways.`
  )
}

/**
 * The test files that the arguments stand for and this machine can run, after the missing programs were installed, if that is
 * possible. `args`: those of test/selection.ts. Ends the process if none is left, or in CI (`CI=true`) if one is left out.
 * Returns those of them that also belong to `npm test`, and the sentence about the others, which is printed already.
 */
export async function selectTests(node, args) {
  let needs = await select(node, args)
  if (needs.leftOut > 0) {
    installPackages(
      needs.missing.map(program => program.package),
      say,
    )
    needs = await select(node, args)
  }
  const text = leftOutText(needs)
  if (text === undefined) return { files: needs.files, inBoth: needs.inBoth }
  say(text)
  const inCi = process.env.CI === 'true'
  if (inCi) say('In CI, as CI=true says, every test must run.')
  if (inCi || needs.files.length === 0) process.exit(1)
  return { files: needs.files, inBoth: needs.inBoth, text }
}
