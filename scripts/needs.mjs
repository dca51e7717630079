// Finds or installs what tests need and npm does not provide, before the first test. Runs on the machine's own Node, from
// version 20.
import { join } from 'node:path'
import { installPackages } from './debian.mjs'
import { capture, root, say } from './node.mjs'

/** What test/needs.ts prints. Ends the process if it names no test. `node` runs TypeScript. */
async function findNeeds(node, names) {
  const program = join(root, 'test', 'needs.ts')
  const { code, output } = await capture(node, ['--disable-warning=ExperimentalWarning', program, ...names])
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
 * The test files that the names stand for and this machine can run, after the missing programs were installed, if that is
 * possible. Ends the process if none is left, or in CI (`CI=true`) if one is left out. Returns the sentence about the others,
 * too, which is printed already.
 */
export async function selectTests(node, names) {
  let needs = await findNeeds(node, names)
  if (needs.leftOut > 0) {
    installPackages(
      needs.missing.map(program => program.package),
      say,
    )
    needs = await findNeeds(node, names)
  }
  const text = leftOutText(needs)
  if (text === undefined) return { files: needs.files }
  say(text)
  const inCi = process.env.CI === 'true'
  if (inCi) say('In CI, as CI=true says, every test must run.')
  if (inCi || needs.files.length === 0) process.exit(1)
  return { files: needs.files, text }
}
