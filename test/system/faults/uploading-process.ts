/** A service that ends itself, as a kill does, at one point of an upload. Prints its address. */
import fs, { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { Files } from '../../../src/engine/files/files.ts'
import { openFiles } from '../../api/rest/files/fixture.ts'

const [, , given = '{}', point = ''] = process.argv

let isArmed = false
const reach = (reached: string) => {
  if (isArmed && reached === point) process.kill(process.pid, 'SIGKILL')
}

const handle = await open(process.execPath)
const handles = Object.getPrototypeOf(handle)
await handle.close()
const { sync, writeFile } = handles
handles.writeFile = async function write(...args: unknown[]) {
  await writeFile.apply(this, args)
  reach('write')
}
let syncs = 0
handles.sync = async function synced() {
  await sync.call(this)
  if (isArmed) reach(['sync', 'folder'][Math.min(1, syncs++)] ?? '')
}
const { rename, rm } = fs
fs.rename = async (...args) => {
  await rename(...args)
  reach('rename')
}
fs.rm = async (...args) => {
  reach('remove')
  await rm(...args)
  reach('removed')
}
syncBuiltinESMExports()

const { receive } = Files.prototype
Files.prototype.receive = async function received(...args) {
  const upload = await receive.apply(this, args)
  reach('row')
  return upload
}
// The item is committed; its client has not been told.
const { _write } = Socket.prototype
Socket.prototype._write = function written(chunk, ...rest) {
  if (String(chunk).startsWith('HTTP/1.1 20')) reach('commit')
  return _write.call(this, chunk, ...rest)
}
const { _writev } = Socket.prototype
if (_writev)
  Socket.prototype._writev = function written(chunks, ...rest) {
    if (chunks.some(({ chunk }) => String(chunk).startsWith('HTTP/1.1 20'))) reach('commit')
    return _writev.call(this, chunks, ...rest)
  }

const { service } = await openFiles(JSON.parse(given))
isArmed = true
process.stdout.write(`${service.url}\n`)
