// `npm run create -- FOLDER [options]`: what `npm create portico` does, with Portico as this clone has it.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build, isBuilt } from './build.mjs'
import { capture, chosenNode, prepareToServe, root, run, say } from './node.mjs'

const onWindows = process.platform === 'win32'

/** Packs a folder of this clone, with its `prepack`. Returns the path of the file. */
async function pack(folder) {
  const target = join(root, '.cache', 'packed')
  mkdirSync(target, { recursive: true })
  const args = ['pack', folder, '--json', '--loglevel=error', '--pack-destination', target]
  const { code, output } = await capture('npm', args, { shell: onWindows })
  const [, filename] = /"filename": "([^"]+)"/.exec(output) ?? []
  if (code === 0 && filename !== undefined) return join(target, filename)
  say(`${output}\n\`npm pack\` failed; its output is above.`)
  return process.exit(1)
}

await prepareToServe()
if (!isBuilt()) {
  say('Building …')
  await build()
}
const { code, output } = await capture(chosenNode(), [join('create', 'build.mjs')])
if (code !== 0) {
  say(output)
  process.exit(code)
}
const args = [join(root, 'create', 'dist', 'bin.js'), '--portico', await pack('.'), ...process.argv.slice(2)]
process.exitCode = await run(chosenNode(), args, { cwd: process.env.INIT_CWD ?? process.cwd() })
