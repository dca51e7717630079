// `npm run create -- FOLDER [options]`: does what `npm create portico` does, with the Portico of this clone.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { chosenNode, prepareToServe, root, run } from './node.mjs'
import { pack } from './pack.mjs'

await prepareToServe()
const folder = join(root, '.cache', `packed-${process.pid}`)
const packed = await pack(folder)
const { filename } = packed.find(({ name }) => name === 'portico')
const program = join(root, 'create', 'dist', 'bin.js')
const args = [program, '--portico', join(folder, filename), ...process.argv.slice(2)]
// The folder in which npm was called, not the clone.
process.exitCode = await run(chosenNode(), args, { cwd: process.env.INIT_CWD ?? process.cwd() })
rmSync(folder, { recursive: true, force: true })
