// `node scripts/pack.mjs FOLDER`: packs Portico and create-portico as they would be published, and prints npm's report.
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build, isBuilt } from './build.mjs'
import { exclusively } from './exclusive.mjs'
import { capture, chosenNode, prepareToServe, root, say } from './node.mjs'

const run = promisify(execFile)

/** Builds create-portico, unless it is newer than its sources. */
async function buildCreate() {
  const { code, output } = await capture(chosenNode(), [join('create', 'build.mjs')])
  if (code === 0) return
  say(output)
  process.exit(code)
}

/** Builds what is stale, and packs both into a folder. Returns `{ name, version, integrity, filename, files }` for each. */
export function pack(folder) {
  return exclusively(async () => {
    if (!isBuilt()) {
      say('Building …')
      await build()
    }
    await buildCreate()
    mkdirSync(folder, { recursive: true })
    // Both are built.
    const args = ['pack', '.', './create', '--json', '--ignore-scripts', '--loglevel=error']
    const options = { cwd: root, shell: process.platform === 'win32' }
    const { stdout } = await run('npm', [...args, '--pack-destination', folder], options)
    return JSON.parse(stdout)
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await prepareToServe()
  const [, , folder = join(root, '.cache', 'packed')] = process.argv
  console.log(JSON.stringify(await pack(folder)))
}
