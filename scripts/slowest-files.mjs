// A reporter for `node --test` that ends with the ten files that took longest.
import { relative } from 'node:path'
import { root } from './node.mjs'

const count = 10

/** Files that share a process are suites with their names. The program that runs a part of a file is named after it. */
function fileOf({ name, file = '' }) {
  if (/^(test|examples)\/\S+\.test\.ts$/.test(name)) return name
  const [, part] = /(test~\S+)\.mjs$/.exec(file) ?? []
  return part?.replaceAll('~', '/') ?? relative(root, file)
}

export default async function* slowestFiles(source) {
  const seconds = new Map()
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting > 0) continue
    const file = fileOf(data)
    seconds.set(file, (seconds.get(file) ?? 0) + data.details.duration_ms / 1000)
  }
  const slowest = [...seconds].sort(([, left], [, right]) => right - left).slice(0, count)
  yield `The slowest of ${seconds.size} files:\n`
  for (const [file, time] of slowest) yield `${time.toFixed(1).padStart(8)} s  ${file}\n`
}
