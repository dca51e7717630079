// A reporter for `node --test` that ends with the ten files that took longest.
import { relative } from 'node:path'
import { root } from './node.mjs'

const count = 10

/** Files that share a process are suites with their names. */
function fileOf({ name, file = '' }) {
  return /^(test|examples)\/\S+\.test\.ts$/.test(name) ? name : relative(root, file)
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
